import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AiSdkChatOptions, aiSdkChat } from '../../../../server/engines/chat/ai-sdk/adapter.ts'
import type { ChatRequest } from '../../../../server/engines/chat/contract.ts'
import { allEvents, assertEventOrder, chatEngineContract, textRequest } from '../contract.ts'
import { type Fault, faultOf, faultTests, LEAK, openAiSdk, status, stream, tool, using } from './open.ts'

const block = (index: number, start: object, deltas: object[]) => [
  { type: 'content_block_start', index, content_block: start },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
]
const START = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 90, cache_creation_input_tokens: 5 },
  },
}
const stopped = (stop_reason: string) => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 7 } },
  { type: 'message_stop' },
]
const text = block(0, { type: 'text', text: '' }, [
  { type: 'text_delta', text: 'Waves ' },
  { type: 'text_delta', text: 'roll.' },
])
const ANTHROPIC_TEXT = [START, ...text, ...stopped('end_turn')]
const anthropic = (more: Partial<AiSdkChatOptions> = {}) => openAiSdk('@ai-sdk/anthropic', stream(ANTHROPIC_TEXT), more)
const MODEL = 'claude-haiku-4-5'
const asked = textRequest(MODEL, { max_tokens: 100 })

chatEngineContract('ai-sdk, Anthropic', async () => ({ ...(await anthropic()), model: MODEL }))

test('Anthropic: usage counts cached input as a part of the input', () =>
  using(anthropic(), async ({ engine }) => {
    const end = (await allEvents(engine, asked)).at(-1)
    assert.deepEqual(end, { type: 'end', usage: { input: 105, cached_input: 90, output: 7, reasoning: 0 } })
  }))

test('Anthropic: an answer in one JSON text is read in place of the stream, with one request', () =>
  using(anthropic(), async ({ engine, reply, received }) => {
    const content = [
      { type: 'thinking', thinking: 'Hm.', signature: 's' },
      { type: 'text', text: 'Wait.' },
      { type: 'tool_use', id: 'call_1', name: 'tide', input: { at: 'noon' } },
    ]
    const usage = { input_tokens: 10, output_tokens: 7 }
    reply(status(200, { ...START.message, content, stop_reason: 'tool_use', usage }))
    assert.deepEqual(await allEvents(engine, { ...asked, tools: [tool('tide')] }), [
      { type: 'reasoning-delta', choice: 0, text: 'Hm.' },
      { type: 'text-delta', choice: 0, text: 'Wait.' },
      { type: 'tool-call-delta', choice: 0, call: 0, id: 'call_1', name: 'tide', arguments: '{"at":"noon"}' },
      { type: 'finish', choice: 0, reason: 'tool_calls' },
      { type: 'end', usage: { input: 10, cached_input: 0, output: 7, reasoning: 0 } },
    ])
    assert.equal(received.length, 1)
  }))

test('Anthropic: reasoning, then a tool call, whose arguments come in pieces', () =>
  using(anthropic(), async ({ engine, reply }) => {
    const frames = [
      START,
      ...block(0, { type: 'thinking', thinking: '' }, [{ type: 'thinking_delta', thinking: 'Hm.' }]),
      ...block(1, { type: 'tool_use', id: 'call_1', name: 'tide', input: {} }, [
        { type: 'input_json_delta', partial_json: '{"at":' },
        { type: 'input_json_delta', partial_json: '"noon"}' },
      ]),
      ...stopped('tool_use'),
    ]
    reply(stream(frames))
    const events = await allEvents(engine, { ...asked, tools: [tool('tide')] })
    assert.deepEqual(events[0], { type: 'reasoning-delta', choice: 0, text: 'Hm.' })
    const calls = events.filter((event) => event.type === 'tool-call-delta')
    assert.deepEqual([calls[0]?.id, calls[0]?.name], ['call_1', 'tide'])
    assert.equal(calls.map((call) => call.arguments).join(''), '{"at":"noon"}')
    assert.deepEqual(events.at(-2), { type: 'finish', choice: 0, reason: 'tool_calls' })
  }))

test('Anthropic: roles, images, tool results and allowed tools reach the server, earlier reasoning does not', () =>
  using(anthropic(), async ({ engine, received }) => {
    await allEvents(engine, {
      ...asked,
      tools: [tool('tide'), tool('wind')],
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [tool('tide')] } },
      messages: [
        { role: 'developer', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look.' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0K' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          reasoning: 'old-reasoning',
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'tide', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'High.' },
      ],
    })
    const { body, headers, url } = received[0]!
    assert.equal(url, '/v1/messages')
    assert.equal(headers['x-api-key'], 'secret-key')
    assert.equal((body.tools as Array<{ name: string }>).map(({ name }) => name).join(), 'tide')
    assert.equal((body.tool_choice as { type: string }).type, 'any')
    const sent = JSON.stringify(body)
    for (const part of ['Be brief.', 'iVBORw0K', 'tool_use', 'tool_result', 'High.']) assert.ok(sent.includes(part))
    assert.ok(!sent.includes('old-reasoning'))
  }))

const FOREIGN: Array<[field: string, more: Partial<ChatRequest>]> = [
  ['seed', { seed: 1 }],
  ['frequency_penalty', { frequency_penalty: 1 }],
  ['logprobs', { logprobs: true }],
  ['temperature', { temperature: 1.5 }],
  ['top_p', { temperature: 0.5, top_p: 0.5 }],
  ['response_format', { response_format: { type: 'json_object' } }],
  ['guided_choice', { extra: { guided_choice: ['a'] } }],
  ['reasoning_effort', { reasoning_effort: 'utmost' }],
]
for (const [field, more] of FOREIGN) {
  test(`rejected before the provider is called, with the field's name: ${field}, which Anthropic does not take`, () =>
    using(anthropic(), async ({ engine, received }) => {
      const error = await faultOf(engine, { ...asked, ...more })
      assert.equal(error.kind, 'rejected')
      assert.ok(error.public_message?.startsWith(`${field}:`), error.public_message)
      assert.deepEqual([error.param, received.length], [field, 0])
    }))
}

test('Anthropic: one tool call at a time is asked for in its own words, beside the options of the entry', () =>
  using(anthropic({ provider_options: { anthropic: { sendReasoning: false } } }), async ({ engine, received }) => {
    await allEvents(engine, { ...asked, tools: [tool('tide')], tool_choice: 'auto', parallel_tool_calls: false })
    assert.deepEqual(received[0]!.body.tool_choice, { type: 'auto', disable_parallel_tool_use: true })
  }))

test('Anthropic: settings that change nothing are not sent, and what may be ignored is', () =>
  using(anthropic(), async ({ engine, received }) => {
    const neutral = { frequency_penalty: 0, presence_penalty: 0, repetition_penalty: 1, min_p: 0 }
    const { function: weather } = tool('weather')
    for (const more of [
      {
        ...neutral,
        temperature: 1,
        top_p: 1,
        tools: [{ type: 'function' as const, function: { ...weather, strict: false } }],
      },
      { ...neutral, temperature: 0.5, top_p: 1 },
      { min_p: 0.1, repetition_penalty: 1.1 },
      { top_k: 5, reasoning_effort: 'low' },
    ])
      assertEventOrder(await allEvents(engine, { ...asked, ...more }), 1)
    const sent = received.map(({ body }) => [body.temperature, body.top_p, body.top_k])
    const none = [undefined, undefined, undefined]
    assert.deepEqual(sent, [none, [0.5, undefined, undefined], none, none])
  }))

const calling = (id: string): ChatRequest['messages'] => [
  { role: 'user', content: 'Hi' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name: 'tide', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: id, content: 'High.' },
]

test('Anthropic: the id that another provider gave to a call is replaced by one of its form', () =>
  using(anthropic(), async ({ engine, received }) => {
    for (const id of ['functions.tide:0', 'toolu_01A-b']) await allEvents(engine, { ...asked, messages: calling(id) })
    const ids = received.map(({ body }) =>
      JSON.stringify(body)
        .match(/"(?:tool_use_)?id":"[^"]*"/g)!
        .join(),
    )
    assert.deepEqual(ids, [
      '"id":"2e061de36","tool_use_id":"2e061de36"',
      '"id":"toolu_01A-b","tool_use_id":"toolu_01A-b"',
    ])
  }))

test('Anthropic: a history whose calls have lost their thinking is answered without thinking', () =>
  using(anthropic(), async ({ engine, reply, received }) => {
    const message =
      'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block.'
    reply(status(400, failure('invalid_request_error', message)))
    const events = await allEvents(engine, { ...asked, reasoning_effort: 'low', messages: calling('call_1') })
    assertEventOrder(events, 1)
    const thinking = received.map(({ body }) => (body.thinking as { type: string } | undefined)?.type)
    assert.deepEqual(thinking, ['enabled', undefined])
  }))

const failure = (type: string, message = LEAK) => ({ type: 'error', error: { type, message } })
const FAULTS: Fault[] = [
  ['status 400', 'rejected', status(400, failure('invalid_request_error'))],
  ['a prompt too long', 'context_length', status(400, failure('x', 'prompt is too long: 9000 tokens > 8192 maximum'))],
  ['status 401', 'failed', status(401, failure('authentication_error'))],
  ['status 429', 'overloaded', status(429, failure('rate_limit_error'))],
  ['status 500', 'failed', status(500, failure('api_error'))],
  ['status 500 with HTML', 'failed', status(500, `<html>${LEAK}</html>`, { 'content-type': 'text/html' })],
  ['a redirect', 'failed', status(302, '', { location: 'http://127.0.0.1:9/' })],
  ['a cut stream', 'failed', stream([START, ...text])],
  ['silence before the head', 'timeout', () => {}, { idle_seconds: 0.2 }],
  ['silence in the middle', 'timeout', stream([START, ...text], { cut: true }), { idle_seconds: 0.2 }],
  ['an error in the middle', 'overloaded', stream([START, ...text, failure('overloaded_error')])],
]
faultTests('Anthropic', { open: anthropic, asked, faults: FAULTS })

test('a wait that the server asks for is passed on', () =>
  using(anthropic(), async ({ engine, reply }) => {
    reply(status(429, failure('rate_limit_error'), { 'retry-after': '7' }))
    assert.equal((await faultOf(engine, asked)).retry_after_seconds, 7)
  }))

test('unreachable: nothing listens', async () => {
  const options = { kind: 'ai-sdk', package: '@ai-sdk/anthropic', api_key: 'k' } as const
  const engine = aiSdkChat({ ...options, base_url: 'http://127.0.0.1:9/v1' })
  assert.equal((await faultOf(engine, asked)).kind, 'unreachable')
  await engine.close?.()
})

test('a package that is not installed is named with the command that installs it', () => {
  const options = { kind: 'ai-sdk', package: '@ai-sdk/none-such', base_url: 'http://127.0.0.1:9' } as const
  assert.throws(() => aiSdkChat(options), /npm install @ai-sdk\/none-such/)
})
