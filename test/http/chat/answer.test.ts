import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Value } from 'typebox/value'
import { ChatCompletion } from '../../../server/chat/schema.ts'
import { unixSeconds } from '../../../server/platform/clock.ts'
import type { TestPerson } from '../../support/http/app.ts'
import {
  ask,
  chargesOf,
  customer,
  type MeteredChatApp,
  startMeteredChatApp,
} from '../../support/http/metered-chat-app.ts'
import type { HttpResponse } from '../../support/http/send.ts'
import { completion, USAGE } from '../../support/upstream/chat-upstream.ts'

let service: MeteredChatApp
let person: TestPerson
before(async () => {
  service = await startMeteredChatApp()
  person = await customer(service)
})
after(() => service.close())

/** The answer to one reply of the model server, after its shape was checked. */
async function answerTo(message: object, more: object = {}, changes: Record<string, unknown> = {}) {
  service.upstream.reply({ kind: 'json', body: completion(message, more) })
  return valid(await ask(service.app, person, changes))
}

function valid({ status, body, text }: HttpResponse): HttpResponse['body'] {
  assert.equal(status, 200, text)
  assert.deepEqual([...Value.Errors(ChatCompletion, body)], [])
  assert.match(body.id, /^chatcmpl-[0-9a-f]{24}$/)
  assert.equal(body.usage.total_tokens, body.usage.prompt_tokens + body.usage.completion_tokens)
  for (const [index, choice] of body.choices.entries()) {
    assert.equal(choice.index, index)
    for (const each of choice.message.tool_calls ?? []) assert.deepEqual(Object.keys(each), ['id', 'type', 'function'])
  }
  return body
}

const call = (id: string, name: string, args: string) => ({ id, type: 'function', function: { name, arguments: args } })
const TOOLS = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }]

test('200: a text answer has exactly the shape of the contract', async () => {
  const json = await answerTo({ content: 'Hi' })
  assert.deepEqual(json, {
    id: json.id,
    object: 'chat.completion',
    created: unixSeconds(service.app.clock.now()),
    model: 'far-1',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'Hi', refusal: null }, logprobs: null, finish_reason: 'stop' },
    ],
    usage: {
      prompt_tokens: 9,
      completion_tokens: 2,
      total_tokens: 11,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
    },
    service_tier: 'default',
  })
})

test('200: the usage details are those of the model server', async () => {
  const details = { prompt_tokens_details: { cached_tokens: 5 }, completion_tokens_details: { reasoning_tokens: 1 } }
  const { usage } = await answerTo({ content: 'Hi' }, { usage: { ...USAGE, ...details } })
  assert.deepEqual(
    [usage.prompt_tokens_details.cached_tokens, usage.completion_tokens_details.reasoning_tokens],
    [5, 1],
  )
})

test('200: content is null when the model only called tools, and set when there is also text', async () => {
  const calls = [call('call_1', 'look', '{"at":"sky"}'), call('call_2', 'look', '')]
  const only = await answerTo({ content: null, tool_calls: calls }, { finish_reason: 'tool_calls' }, { tools: TOOLS })
  assert.deepEqual(only.choices[0], {
    index: 0,
    message: { role: 'assistant', content: null, refusal: null, tool_calls: [calls[0], call('call_2', 'look', '{}')] },
    logprobs: null,
    finish_reason: 'tool_calls',
  })
  const empty = await answerTo({ content: '', tool_calls: calls }, { finish_reason: 'tool_calls' })
  assert.equal(empty.choices[0].message.content, null)
  const both = await answerTo({ content: 'Let me see', tool_calls: calls }, { finish_reason: 'stop' })
  assert.deepEqual(
    [both.choices[0].message.content, both.choices[0].message.tool_calls.length, both.choices[0].finish_reason],
    ['Let me see', 2, 'tool_calls'],
  )
})

test('200: tool calls are absent, not empty, when there are none', async () => {
  for (const tool_calls of [[], null, undefined]) {
    const json = await answerTo({ content: 'Hi', tool_calls })
    assert.ok(!('tool_calls' in json.choices[0].message))
  }
})

test('200: an answer without text is an empty string', async () => {
  for (const content of ['', null]) {
    const { choices } = await answerTo({ content }, { finish_reason: 'length' })
    assert.deepEqual([choices[0].message.content, choices[0].finish_reason], ['', 'length'])
  }
})

test('200: reasoning is returned under both names, whichever the model server used, and under neither when there is none', async () => {
  for (const name of ['reasoning_content', 'reasoning']) {
    const { message } = (await answerTo({ content: 'Hi', [name]: 'Let me think' })).choices[0]
    assert.deepEqual([message.reasoning_content, message.reasoning], ['Let me think', 'Let me think'])
  }
  const both = (await answerTo({ content: 'Hi', reasoning_content: 'Hm', reasoning: 'Hm' })).choices[0].message
  assert.deepEqual([both.reasoning_content, both.reasoning], ['Hm', 'Hm'])
  const none = (await answerTo({ content: 'Hi', reasoning_content: null, reasoning: '' })).choices[0].message
  assert.deepEqual(Object.keys(none), ['role', 'content', 'refusal'])
})

test('200: a refusal takes the place of the content', async () => {
  const { message } = (await answerTo({ content: null, refusal: 'I would rather not.' })).choices[0]
  assert.deepEqual(message, { role: 'assistant', content: null, refusal: 'I would rather not.' })
})

test('200: finish reasons are the four of the contract; any other, and none, is a stop', async () => {
  const reasons = {
    stop: 'stop',
    length: 'length',
    content_filter: 'content_filter',
    tool_calls: 'stop',
    eos: 'stop',
    MAX_TOKENS: 'length',
    SAFETY: 'content_filter',
    'canary/secret': 'stop',
  }
  for (const [reason, expected] of [...Object.entries(reasons), [null, 'stop'] as const]) {
    const { choices } = await answerTo({ content: 'Hi' }, { finish_reason: reason })
    assert.equal(choices[0].finish_reason, expected, String(reason))
  }
})

test('200: log probabilities are returned unchanged when requested, and null otherwise', async () => {
  const top_logprobs = [
    { token: 'Hi', logprob: -0.5, bytes: [72, 105] },
    { token: 'Ho', logprob: -1.5, bytes: null },
  ]
  const content = [{ token: 'Hi', logprob: -0.5, bytes: [72, 105], top_logprobs }]
  const asked = { logprobs: true, top_logprobs: 2 }
  const requested = await answerTo({ content: 'Hi' }, { logprobs: { content } }, asked)
  assert.deepEqual(requested.choices[0].logprobs, { content, refusal: null })
  assert.equal((await answerTo({ content: 'Hi' }, { logprobs: { content } })).choices[0].logprobs, null)
  assert.equal((await answerTo({ content: 'Hi' }, { logprobs: null }, asked)).choices[0].logprobs, null)
})

test('200: n choices are in order of their index, whatever the order of the model server', async () => {
  const [choice] = (completion({ content: 'x' }) as { choices: object[] }).choices
  const choices = [2, 0, 1].map((index) => ({ ...choice, index, message: { role: 'assistant', content: `${index}` } }))
  service.upstream.reply({ kind: 'json', body: { ...completion({}), choices } })
  const json = valid(await ask(service.app, person, { n: 3 }))
  assert.deepEqual(
    json.choices.map(({ message }: { message: { content: string } }) => message.content),
    ['0', '1', '2'],
  )
})

test('200: the embedded model answers in the same shape, with reasoning, choices, calls, a refusal and log probabilities', async () => {
  const model = 'sandbox-1'
  const words = (content: string) => ({ model, messages: [{ role: 'user', content }] })
  const several = valid(
    await ask(service.app, person, { ...words('Tell me of rain'), n: 3, logprobs: true, top_logprobs: 2 }),
  )
  assert.equal(several.choices.length, 3)
  for (const { logprobs, message } of several.choices) {
    assert.equal(logprobs.content.map(({ token }: { token: string }) => token).join(''), message.content)
  }
  const thinking = valid(await ask(service.app, person, { ...words('Tell me of rain'), reasoning_effort: 'low' }))
  assert.ok(thinking.choices[0].message.reasoning.length > 0)
  assert.ok(thinking.usage.completion_tokens_details.reasoning_tokens > 0)
  const calling = valid(await ask(service.app, person, { ...words('Look up'), tools: TOOLS, tool_choice: 'required' }))
  assert.deepEqual([calling.choices[0].message.content, calling.choices[0].finish_reason], [null, 'tool_calls'])
  assert.ok(valid(await ask(service.app, person, words('sandbox:refuse'))).choices[0].message.refusal.length > 0)
  assert.equal(
    valid(await ask(service.app, person, words('sandbox:filter'))).choices[0].finish_reason,
    'content_filter',
  )
})

test('400 names the schema path and the keyword for which the embedded model finds no value; nothing is charged', async () => {
  const payer = await customer(service)
  const words = { model: 'sandbox-1', messages: [{ role: 'user', content: 'Look up' }] }
  const list = { type: 'array', contains: { const: 7 }, minItems: 1 }
  const schema = { type: 'object', properties: { rows: list }, required: ['rows'] }
  for (const [asked, name] of [
    [{ response_format: { type: 'json_schema', json_schema: { name: 'trip', schema } } }, "response_format 'trip'"],
    [{ tools: [{ type: 'function', function: { name: 'look', parameters: schema } }] }, "function 'look'"],
  ] as const) {
    for (const stream of [false, true]) {
      const { status, body } = await ask(service.app, payer, { ...words, ...asked, stream })
      assert.deepEqual([status, body.error.code], [400, 'invalid_request_error'])
      const problem = "'contains' at #/rows is not satisfied."
      assert.equal(body.error.message, `Invalid schema for ${name}: the sandbox finds no value for it: ${problem}`)
    }
  }
  assert.ok(
    (await chargesOf(service.app, payer)).every(({ amount, input_tokens }) => amount === 0n && input_tokens === 0),
  )
})
