import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { RESPONSE_MEMBERS } from '../../support/data/response-grammar.ts'
import type { TestPerson } from '../../support/http/app.ts'
import {
  canariesIn,
  chargesOf,
  costOf,
  customer,
  type MeteredChatApp,
  startMeteredChatApp,
} from '../../support/http/metered-chat-app.ts'
import { createResponse, functionTool, readStored } from '../../support/http/response-requests.ts'
import { completion, USAGE } from '../../support/upstream/chat-upstream.ts'

let service: MeteredChatApp
let person: TestPerson
before(async () => {
  service = await startMeteredChatApp()
  person = await customer(service)
})
after(async () => {
  assert.deepEqual(await service.app.audit(), {})
  await service.close()
})

const exchange = async (changes: Record<string, unknown> = {}) => {
  const exchanged = await createResponse(service.app, person, changes)
  assert.equal(exchanged.status, 200, exchanged.text)
  return exchanged
}
const answer = async (changes: Record<string, unknown> = {}) => (await exchange(changes)).body
const asked = () => service.upstream.requests.at(-1)!.json!
const replyWith = (message: object, more: object = {}) =>
  service.upstream.reply({ kind: 'json', body: completion(message, more) })

test('200: a response has every member with its default, and its text is one message', async () => {
  replyWith({ content: 'Hi there' })
  const { text, body: response } = await exchange()
  assert.deepEqual(Object.keys(response).sort(), RESPONSE_MEMBERS)
  assert.match(response.id, /^resp_[0-9a-f]{48}$/)
  assert.match(response.output[0].id, /^msg_[0-9a-f]{48}$/)
  const now = Math.floor(service.app.clock.now().getTime() / 1000)
  assert.deepEqual(response, {
    id: response.id,
    object: 'response',
    created_at: now,
    completed_at: now,
    status: 'completed',
    incomplete_details: null,
    error: null,
    model: 'far-1',
    previous_response_id: null,
    instructions: null,
    output: [
      {
        id: response.output[0].id,
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hi there', annotations: [], logprobs: [] }],
      },
    ],
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    truncation: 'disabled',
    text: { format: { type: 'text' } },
    reasoning: { effort: null, summary: null },
    temperature: 1,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    max_output_tokens: null,
    max_tool_calls: null,
    store: true,
    background: false,
    service_tier: 'default',
    metadata: {},
    safety_identifier: null,
    prompt_cache_key: null,
    user: null,
    usage: {
      input_tokens: USAGE.prompt_tokens,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: USAGE.completion_tokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: USAGE.total_tokens,
    },
  })
  assert.deepEqual(canariesIn(text, service.upstream), [])
})

test('200: request parameters are echoed as they were sent', async () => {
  const body = {
    instructions: 'Be brief.',
    temperature: 0.25,
    top_p: 0.5,
    presence_penalty: -1,
    frequency_penalty: 2,
    max_output_tokens: 55,
    max_tool_calls: 3,
    parallel_tool_calls: false,
    truncation: 'auto',
    store: false,
    metadata: { a: 'b' },
    safety_identifier: 'who',
    prompt_cache_key: 'key',
    user: 'me',
    reasoning: { effort: 'high', summary: 'concise' },
    text: { format: { type: 'json_schema', name: 'shape', schema: { type: 'object' } }, verbosity: 'low' },
  }
  const response = await answer({
    ...body,
    service_tier: 'flex',
    tools: [functionTool('look')],
    tool_choice: 'required',
  })
  for (const [name, value] of Object.entries(body)) {
    if (name !== 'text') assert.deepEqual(response[name], value, name)
  }
  const { type, name, schema } = body.text.format
  assert.deepEqual(response.text, {
    format: { type, name, schema, description: null, strict: false },
    verbosity: 'low',
  })
  const tool = { type: 'function', name: 'look', description: null, parameters: { type: 'object' }, strict: null }
  assert.deepEqual([response.tools, response.tool_choice, response.service_tier], [[tool], 'required', 'default'])
  const { max_completion_tokens, reasoning_effort, temperature, parallel_tool_calls } = asked()
  assert.deepEqual(
    [max_completion_tokens, reasoning_effort, temperature, parallel_tool_calls],
    [55, 'high', 0.25, false],
  )
})

test('200: reasoning is a separate item; its text is shown only in a requested summary', async () => {
  const thinking = { content: 'So it is.', reasoning_content: 'Let me see.' }
  replyWith(thinking)
  const plain = await answer()
  assert.deepEqual(
    plain.output.map(({ type }: { type: string }) => type),
    ['reasoning', 'message'],
  )
  const { id, ...reasoning } = plain.output[0]
  assert.match(id, /^rs_/)
  assert.deepEqual(reasoning, { type: 'reasoning', status: 'completed', summary: [] })
  replyWith(thinking)
  const shown = await answer({ reasoning: { summary: 'auto' } })
  assert.deepEqual(shown.output[0].summary, [{ type: 'summary_text', text: 'Let me see.' }])
})

test('200: encrypted reasoning is decrypted only for models of the same organization', async () => {
  replyWith({ content: 'Yes.', reasoning_content: 'canary-reasoning' })
  const { text, body } = await exchange({ include: ['reasoning.encrypted_content'], store: false })
  const { output } = body
  assert.equal(typeof output[0].encrypted_content, 'string')
  assert.ok(!text.includes('canary-reasoning'))
  const input = [...output, { role: 'user', content: 'And?' }]
  const again = await answer({ input, store: false })
  assert.equal(again.status, 'completed')
  const outsider = await customer(service)
  assert.equal(
    (await createResponse(service.app, outsider, { input })).status,
    200,
    'what cannot be opened is left out',
  )
  assert.ok(!JSON.stringify(asked()).includes('canary-reasoning'))
})

test('200: a call has the client’s own tool names', async () => {
  const tools = [
    { type: 'namespace', name: 'shop', description: 'Of the shop', tools: [functionTool('find')] },
    { type: 'custom', name: 'patch' },
    { type: 'web_search' },
  ]
  const call = (id: string, name: string, text: string) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  })
  replyWith(
    {
      content: null,
      tool_calls: [call('c1', 'shop__find', '{"q":1}'), call('c2', 'patch', '{"input":"*** Begin\\n"}')],
    },
    { finish_reason: 'tool_calls' },
  )
  const { headers, body } = await exchange({ tools })
  const { output, tools: echoed } = body
  const [find, patch] = output
  assert.deepEqual(
    { ...find, id: '' },
    {
      id: '',
      type: 'function_call',
      status: 'completed',
      call_id: 'c1',
      name: 'find',
      arguments: '{"q":1}',
      namespace: 'shop',
    },
  )
  assert.deepEqual(
    { ...patch, id: '' },
    { id: '', type: 'custom_tool_call', status: 'completed', call_id: 'c2', name: 'patch', input: '*** Begin\n' },
  )
  assert.match(find.id, /^fc_/)
  assert.match(patch.id, /^ctc_/)
  assert.equal(headers.get('x-dropped-tools'), 'web_search')
  assert.deepEqual(
    echoed.map(({ type }: { type: string }) => type),
    ['namespace', 'custom'],
  )
})

test('200: log probabilities are returned when requested', async () => {
  const top = { token: 'H', logprob: -2, bytes: [72] }
  const content = [{ token: 'Hi', logprob: -0.5, bytes: null, top_logprobs: [top] }]
  replyWith({ content: 'Hi' }, { logprobs: { content, refusal: null } })
  const { output } = await answer({ include: ['message.output_text.logprobs'], top_logprobs: 1 })
  assert.deepEqual(output[0].content[0].logprobs, [{ token: 'Hi', logprob: -0.5, bytes: [], top_logprobs: [top] }])
  assert.deepEqual([asked().logprobs, asked().top_logprobs], [true, 1])
})

test('200: an answer without text is one message with an empty text', async () => {
  replyWith({ content: null })
  const { output, status } = await answer()
  assert.deepEqual([status, output.length, output[0].content[0].text], ['completed', 1, ''])
})

test('200: an answer that was cut off is incomplete, with the reason', async () => {
  for (const [finish_reason, reason] of [
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ]) {
    replyWith({ content: 'Once upon' }, { finish_reason })
    const { status, incomplete_details, completed_at, output, id } = await answer()
    assert.deepEqual([status, incomplete_details, completed_at], ['incomplete', { reason }, null])
    assert.equal(output[0].status, 'incomplete')
    assert.equal((await readStored(service.app, person, id)).body.status, 'incomplete')
  }
})

test('200: a refusal is a separate part', async () => {
  replyWith({ content: null, refusal: 'I would rather not.' })
  const { output } = await answer()
  assert.deepEqual(output[0].content, [{ type: 'refusal', refusal: 'I would rather not.' }])
})

test('200: an answer is stored and can be continued, unless the request sets `store: false`', async () => {
  replyWith({ content: 'Blue.' })
  const first = await answer({ input: 'Which color?' })
  assert.deepEqual((await readStored(service.app, person, first.id)).body, first)
  await answer({ input: 'Why?', previous_response_id: first.id })
  assert.deepEqual(asked().messages, [
    { role: 'user', content: 'Which color?' },
    { role: 'assistant', content: 'Blue.' },
    { role: 'user', content: 'Why?' },
  ])
  const unstored = await answer({ store: false })
  assert.equal((await readStored(service.app, person, unstored.id)).status, 404)
  const next = await createResponse(service.app, person, { previous_response_id: unstored.id })
  assert.deepEqual([next.status, next.body.error.code], [404, 'previous_response_not_found'])
})

test('200: the usage shown is the usage charged, once, under the id of the request', async () => {
  const payer = await customer(service)
  replyWith({ content: 'Hi' })
  const { headers } = await createResponse(service.app, payer)
  const charges = await chargesOf(service.app, payer)
  assert.deepEqual(
    charges.map(({ request_id, amount }) => [request_id, amount]),
    [[headers.get('x-request-id'), -costOf({ input: USAGE.prompt_tokens, output: USAGE.completion_tokens })]],
  )
})
