import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seal } from '../../../server/responses/context/seal.ts'
import type { TestPerson } from '../../support/http/app.ts'
import { ask, customer, type MeteredChatApp, startMeteredChatApp } from '../../support/http/metered-chat-app.ts'
import { createResponse, functionTool, replyOf, streamResponse } from '../../support/http/response-requests.ts'
import { turnSocket } from '../../support/http/socket/turns.ts'

let service: MeteredChatApp
let person: TestPerson
before(async () => {
  service = await startMeteredChatApp({
    models: [{ id: 'thinker-1', engine: { reasoning_content_input: true } }],
  })
  person = await customer(service)
})
after(() => service.close())

const extra_content = { google: { thought_signature: 'c2lnbmVk' } }
const call = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{"at":"sky"}' } })
const SIGNED = replyOf(
  [
    {
      tool_calls: [
        { index: 0, ...call('c1'), extra_content },
        { index: 1, ...call('c2') },
      ],
    },
  ],
  {
    finish_reason: 'tool_calls',
  },
)
const tools = [functionTool('look')]

type SentMessage = { tool_calls?: Array<{ extra_content?: unknown; function: object }> }
const sentMessages = () => service.upstream.requests.at(-1)!.json!.messages as SentMessage[]

/** The extra content of each call that the model server was last sent. */
function sentBack(): unknown[] {
  return sentMessages().flatMap(({ tool_calls = [] }) => tool_calls.map((each) => each.extra_content ?? null))
}

test('200: chat gives the extra content of a call with it, plain and streamed, and sends it back', async () => {
  service.upstream.reply(SIGNED)
  const { body } = await ask(service.app, person)
  const [{ message }] = body.choices
  assert.deepEqual(message.tool_calls, [{ ...call('c1'), extra_content }, call('c2')])
  service.upstream.reply(SIGNED)
  const { text } = await ask(service.app, person, { stream: true })
  assert.equal(text.split(JSON.stringify(extra_content)).length, 2, 'once')
  const outputs = ['c1', 'c2'].map((tool_call_id) => ({ role: 'tool', tool_call_id, content: 'blue' }))
  await ask(service.app, person, { messages: [{ role: 'user', content: 'Hello' }, message, ...outputs] })
  assert.deepEqual(sentBack(), [extra_content, null])
})

const OUTPUTS = ['c1', 'c2'].map((call_id) => ({ type: 'function_call_output', call_id, output: 'blue' }))

test('200: a response keeps it for the next one of its chain', async () => {
  service.upstream.reply(SIGNED)
  const { body } = await createResponse(service.app, person, { tools })
  assert.deepEqual(
    body.output.map((item: { type: string; extra_content?: object }) => [item.type, item.extra_content ?? null]),
    [
      ['function_call', extra_content],
      ['function_call', null],
    ],
  )
  await createResponse(service.app, person, { tools, previous_response_id: body.id, input: OUTPUTS })
  assert.deepEqual(sentBack(), [extra_content, null])
})

test('200: over a WebSocket it is kept from turn to turn', async () => {
  const socket = await turnSocket(service.app.url, person)
  service.upstream.reply(SIGNED)
  const { response } = await socket.turn({ tools, store: false })
  await socket.turn({ tools, store: false, previous_response_id: response.id, input: OUTPUTS })
  assert.deepEqual(sentBack(), [extra_content, null])
  await socket.close()
})

test('200: a client that keeps only what it knows of a call sends it back encrypted', async () => {
  const asked = { tools, store: false, include: ['reasoning.encrypted_content'] }
  const { built } = await streamResponse(service, person, { reply: SIGNED, ...asked })
  assert.deepEqual(
    built.output.map(({ type }: { type: string }) => type),
    ['function_call', 'function_call', 'reasoning'],
  )
  const kept = built.output.map((item: Record<string, unknown>) => {
    const { type, call_id, name, arguments: text, summary, encrypted_content } = item
    return type === 'reasoning' ? { type, summary, encrypted_content } : { type, call_id, name, arguments: text }
  })
  const input = [{ role: 'user', content: 'Hello' }, ...kept, ...OUTPUTS]
  await createResponse(service.app, person, { ...asked, input })
  assert.deepEqual(sentBack(), [extra_content, null])
  const other = await customer(service)
  await createResponse(service.app, other, { ...asked, input })
  assert.deepEqual(sentBack(), [null, null], 'encrypted for one organization')
})

test('200: a call without arguments has an empty object, and goes to the model server with one', async () => {
  const bare = { id: 'c1', type: 'function', function: { name: 'look', arguments: '' } }
  service.upstream.reply(replyOf([{ tool_calls: [{ index: 0, ...bare }] }], { finish_reason: 'tool_calls' }))
  const { body } = await ask(service.app, person)
  assert.equal(body.choices[0].message.tool_calls[0].function.arguments, '{}')
  const messages = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: null, tool_calls: [bare] },
    { role: 'tool', tool_call_id: 'c1', content: 'blue' },
  ]
  await ask(service.app, person, { messages })
  assert.deepEqual(sentMessages()[1]!.tool_calls![0]!.function, { name: 'look', arguments: '{}' })
  const item = { type: 'function_call', call_id: 'c1', name: 'look', arguments: '' }
  const input = [{ role: 'user', content: 'Hello' }, item, { type: 'function_call_output', call_id: 'c1', output: '' }]
  await createResponse(service.app, person, { input })
  assert.deepEqual(sentMessages()[1]!.tool_calls![0]!.function, { name: 'look', arguments: '{}' })
})

test('200: a call of a custom tool keeps it too', async () => {
  const custom = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"input":"sky"}' } }
  const end = { finish_reason: 'tool_calls' }
  service.upstream.reply(replyOf([{ tool_calls: [{ index: 0, ...custom, extra_content }] }], end))
  const asked = { tools: [{ type: 'custom', name: 'look' }] }
  const { body } = await createResponse(service.app, person, asked)
  const [{ type, input, extra_content: kept }] = body.output
  assert.deepEqual([type, input, kept], ['custom_tool_call', 'sky', extra_content])
  const output = [{ type: 'custom_tool_call_output', call_id: 'c1', output: 'blue' }]
  await createResponse(service.app, person, { ...asked, previous_response_id: body.id, input: output })
  assert.deepEqual(sentBack(), [extra_content])
})

test('200: reasoning encrypted for the organization is sent to a model that accepts it, once, in its place', async () => {
  const { secret } = service.app.ctx
  const outsider = await customer(service)
  const sealed = (text: string, org_id = person.org_id) => seal(secret, { org_id, purpose: 'reasoning' }, text)
  const reasoningItem = (encrypted_content: string | null) => ({ type: 'reasoning', summary: [], encrypted_content })
  const asks = (call_id: string) => ({ type: 'function_call', call_id, ...call('').function })
  const seen = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'blue' })
  const input = [
    { role: 'user', content: 'Hi' },
    reasoningItem(sealed('I should look.')),
    { role: 'assistant', content: 'Looking.' },
    asks('call_a'),
    reasoningItem(sealed('Twice.')),
    asks('call_b'),
    seen('call_a'),
    seen('call_b'),
    reasoningItem(sealed('foreign', outsider.org_id)),
    reasoningItem('made up'),
    reasoningItem(null),
    { role: 'assistant', content: 'Done.' },
    reasoningItem(sealed('for nobody')),
    { role: 'user', content: 'And?' },
  ]
  await createResponse(service.app, person, { model: 'thinker-1', input })
  const reasoning = 'I should look.\n\nTwice.'
  const both = { reasoning, reasoning_content: reasoning }
  assert.deepEqual(sentMessages().slice(1), [
    { role: 'assistant', content: 'Looking.', tool_calls: [call('call_a'), call('call_b')], ...both },
    { role: 'tool', tool_call_id: 'call_a', content: 'blue' },
    { role: 'tool', tool_call_id: 'call_b', content: 'blue' },
    { role: 'assistant', content: 'Done.' },
    { role: 'user', content: 'And?' },
  ])
  await createResponse(service.app, person, { input })
  assert.equal(JSON.stringify(sentMessages()).includes('Twice'), false)
})

test('200: the reasoning of a model that accepts it is kept in a chain without include, and a call without any has a blank one', async () => {
  const asked = { model: 'thinker-1', tools }
  const end = { finish_reason: 'tool_calls' }
  const called = (id: string) => ({ tool_calls: [{ index: 0, ...call(id) }] })
  service.upstream.reply(replyOf([{ reasoning_content: 'I should look.' }, called('c1')], end))
  const first = await createResponse(service.app, person, asked)
  const seen = (call_id: string) => [{ type: 'function_call_output', call_id, output: 'blue' }]
  service.upstream.reply(replyOf([called('c2')], end))
  const next = { ...asked, previous_response_id: first.body.id, input: seen('c1') }
  const second = await createResponse(service.app, person, next)
  await createResponse(service.app, person, { ...asked, previous_response_id: second.body.id, input: seen('c2') })
  const sent = sentMessages().filter((message) => message.tool_calls) as Array<{ reasoning_content?: string }>
  assert.deepEqual(
    sent.map(({ reasoning_content }) => reasoning_content),
    ['I should look.', ' '],
  )
})

test("200: OpenRouter's encrypted reasoning goes with the last call, and back where OpenRouter wants it", async () => {
  // https://github.com/microsoft/agent-framework/issues/2947
  const sealed = (id: string) => ({ type: 'reasoning.encrypted', data: 'c2lnbmVk', id, format: 'google-gemini-v1' })
  const text = { type: 'reasoning.text', text: 'I should look.' }
  const deltas = [
    { reasoning_details: [text] },
    { reasoning_details: [sealed('c1')], tool_calls: [{ index: 0, ...call('c1') }] },
    { tool_calls: [{ index: 1, ...call('c2') }] },
    { reasoning_details: [sealed('c2')] },
  ]
  const reply = replyOf(deltas, { finish_reason: 'tool_calls' })
  const sent = () => {
    const [message] = sentMessages().filter((each) => each.tool_calls) as Array<SentMessage & Record<string, unknown>>
    return [message!.reasoning_details, message!.tool_calls]
  }
  const wanted = [
    [sealed('c1'), sealed('c2')],
    [call('c1'), call('c2')],
  ]
  const { built } = await streamResponse(service, person, { reply, tools })
  await createResponse(service.app, person, { tools, previous_response_id: built.id, input: OUTPUTS })
  assert.deepEqual(sent(), wanted)
  service.upstream.reply(reply)
  const { body } = await ask(service.app, person)
  const outputs = ['c1', 'c2'].map((tool_call_id) => ({ role: 'tool', tool_call_id, content: 'blue' }))
  const messages = [{ role: 'user', content: 'Hello' }, body.choices[0].message, ...outputs]
  await ask(service.app, person, { messages })
  assert.deepEqual(sent(), wanted)
})
