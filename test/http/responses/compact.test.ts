import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { seal } from '../../../server/responses/context/seal.ts'
import { newCustomer } from '../../support/http/app.ts'
import { type ChatApp, startChatApp } from '../../support/http/chat-app.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'
import { chunk, textFrames } from '../../support/upstream/chat-upstream.ts'

let service: ChatApp
before(async () => {
  service = await startChatApp([
    { id: 'm', engine: { stream_plain: true }, extra_params: ['prompt_cache_key'] },
    { id: 'tiny', context_length: 600 },
    { id: 'apart', engine: { developer_role: true, system_messages: 'separate' } },
  ])
})
after(() => service.close())
beforeEach(() => service.upstream.requests.splice(0))

const CONVERSATION = [
  { role: 'developer', content: 'Speak plainly.' },
  { id: 'msg_mine', role: 'user', content: 'Look at x.' },
  { type: 'function_call', call_id: 'call_a', name: 'look', arguments: '{}' },
  { type: 'function_call_output', call_id: 'call_a', output: 'x is 7' },
  { role: 'assistant', content: 'It is 7.' },
  { role: 'user', content: [{ type: 'input_text', text: 'And y?' }] },
]

test('200: user messages are kept, and everything else becomes one encrypted summary at the end', async () => {
  answerWith('x is 7. y is open.')
  const { status, body } = await compact({ input: CONVERSATION, instructions: 'Be exact.', prompt_cache_key: 'k' })
  assert.equal(status, 200, JSON.stringify(body))
  assert.match(body.id, /^resp_[0-9a-f]{48}$/)
  assert.equal(body.object, 'response.compaction')
  const [first, second, last] = body.output
  const head = { type: 'message', status: 'completed', role: 'user' }
  assert.deepEqual(first, { id: 'msg_mine', ...head, content: [{ type: 'input_text', text: 'Look at x.' }] })
  assert.deepEqual(second, { id: second.id, ...head, content: [{ type: 'input_text', text: 'And y?' }] })
  assert.deepEqual(Object.keys(last).sort(), ['encrypted_content', 'id', 'type'])
  assert.deepEqual([last.type, body.output.length], ['compaction', 3])
  assert.match(last.id, /^cmp_/)
  assert.equal(JSON.stringify(body).includes('y is open'), false)
  assert.deepEqual(body.usage, {
    input_tokens: 9,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 2,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 11,
  })
  const asked = service.asked()
  const instructions = 'Be exact.\n\nSpeak plainly.'
  assert.deepEqual([asked.messages[0].content, asked.tools, asked.prompt_cache_key], [instructions, undefined, 'k'])
  assert.equal(asked.messages.length, 6)
  assert.match(asked.messages.at(-1).content, /^And y\?\n\n.*summary/)
})

test('200: a compacted conversation continues with its summary, only for this organization', async () => {
  answerWith('x is 7.')
  const { body } = await compact({ input: CONVERSATION })
  const input = [...body.output, { role: 'user', content: 'Go on.' }]
  const next = await send(service.app, 'POST', '/v1/responses', { key: service.person.key }, { model: 'm', input })
  assert.equal(next.status, 200, JSON.stringify(next.body))
  const sent = service.asked().messages
  assert.deepEqual(sent.slice(1), [{ role: 'user', content: 'Look at x.\n\nAnd y?\n\nGo on.' }])
  assert.match(sent[0].content, /x is 7\.$/)
  const foreign = await send(service.app, 'POST', '/v1/responses', { key: service.outsider.key }, { model: 'm', input })
  assert.deepEqual([foreign.status, foreign.headers.get('x-dropped-items')], [200, 'compaction'])
  assert.doesNotMatch(JSON.stringify(service.asked().messages), /x is 7/)
})

test('200: a compaction is a developer message; one that cannot be read is left out and named in a header', async () => {
  const { secret } = service.app.ctx
  const sealed = (org_id: string) => seal(secret, { org_id, purpose: 'compaction' }, 'We looked at x.')
  const [hi, go_on] = ['Hi', 'Go on'].map((content) => ({ role: 'user', content }))
  const compaction = (encrypted_content: string) => [hi, { type: 'compaction', encrypted_content }, go_on]
  const respond = (input: unknown) =>
    send(service.app, 'POST', '/v1/responses', { key: service.person.key }, { model: 'apart', input })
  await respond(compaction(sealed(service.person.org_id)))
  const { messages } = service.asked()
  assert.equal(messages[1].role, 'developer')
  assert.match(messages[1].content, /^Summary .+\n\nWe looked at x\.$/)
  for (const wrong of [
    sealed(service.outsider.org_id),
    'made up',
    seal(secret, { org_id: service.person.org_id, purpose: 'reasoning' }, 'x'),
  ]) {
    const { status, headers } = await respond(compaction(wrong))
    assert.deepEqual([status, headers.get('x-dropped-items')], [200, 'compaction'])
    assert.deepEqual(service.asked().messages, [hi, go_on])
  }
})

test('200 with a previous response; the compaction itself cannot be continued by id, since it is not stored', async () => {
  const first = await send(
    service.app,
    'POST',
    '/v1/responses',
    { key: service.person.key },
    { model: 'm', input: 'Look at x.' },
  )
  answerWith('We greeted.')
  const { status, body } = await compact({ previous_response_id: first.body.id })
  assert.deepEqual([status, body.output.length, body.output[0].content[0].text], [200, 2, 'Look at x.'])
  const read = await send(service.app, 'GET', `/v1/responses/${body.id}`, { key: service.person.key })
  assert.equal(read.status, 404)
  const next = await compact({ previous_response_id: body.id })
  assert.deepEqual([next.status, next.body.error.code], [404, 'previous_response_not_found'])
  const foreign = await compact({ previous_response_id: first.body.id }, service.outsider.key)
  assert.deepEqual([foreign.status, foreign.body.error.code], [404, 'previous_response_not_found'])
})

test('200 for a context over the context length: its oldest part is not in the summary', async () => {
  const long = Array.from({ length: 8 }, (_, i) => ({ role: 'assistant', content: `n${i}${' word'.repeat(99)}` }))
  const { status, body } = await compact({ model: 'tiny', input: [...long, { role: 'user', content: 'So?' }] })
  assert.deepEqual([status, body.output.length], [200, 2])
  const sent = JSON.stringify(service.asked().messages)
  assert.deepEqual([sent.includes('n0 '), sent.includes('n7 ')], [false, true])
})

test('a compaction is charged once, like any turn', async () => {
  const spender = await newCustomer(service.app)
  const balance = async () =>
    (await send(service.app, 'GET', '/console/balance', { cookie: spender.cookie })).body.balance
  const before = Number(await balance())
  assert.equal((await compact({ input: 'Hi' }, spender.key)).status, 200)
  assert.equal(Math.round((before - Number(await balance())) * 1e8), 9 * 100 + 2 * 200)
  assert.deepEqual(await service.app.audit(), {})
})

test('400 for missing or invalid members; members that a compaction does not use are ignored', async () => {
  const cases = [
    [{ model: undefined, input: 'Hi', prompt_cache_key: 'k' }, 'missing_required_parameter', 'model'],
    [{}, 'missing_required_parameter', 'input'],
    [{ input: [{ type: 'tea' }] }, 'invalid_value', 'input[0].type'],
    [{ input: CONVERSATION.slice(0, 3) }, 'tool_output_missing', 'input[2]'],
  ] as const
  for (const [changes, code, param] of cases) {
    const { status, body } = await compact(changes)
    assert.deepEqual([status, body.error.code, body.error.param], [400, code, param])
  }
  const { status } = await compact({
    input: 'Hi',
    tools: 7,
    reasoning: 7,
    temperature: 9,
    stream: true,
    conversation: 'x',
  })
  assert.equal(status, 200)
})

test('404 for an unknown model, 502 for a model that writes no summary', async () => {
  const unknown = await compact({ model: 'gone', input: 'Hi' })
  assert.deepEqual([unknown.status, unknown.body.error.code], [404, 'model_not_found'])
  service.upstream.reply({ kind: 'stream', frames: [chunk({ refusal: 'No.' }), ...textFrames([])] })
  const refused = await compact({ input: 'Hi' })
  assert.deepEqual([refused.status, refused.body.error.code], [502, 'upstream_error'])
})

function answerWith(text: string): void {
  service.upstream.reply({ kind: 'stream', frames: textFrames([text]) })
}

function compact(changes: Record<string, unknown>, key = service.person.key): Promise<HttpResponse> {
  return send(service.app, 'POST', '/v1/responses/compact', { key }, { model: 'm', ...changes })
}
