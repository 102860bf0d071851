import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TestPerson } from '../../support/http/app.ts'
import {
  balanceOf,
  canariesIn,
  chargesOf,
  chargesReaching,
  customer,
  type MeteredChatApp,
  startMeteredChatApp,
} from '../../support/http/metered-chat-app.ts'
import { createResponse, readStored, streamResponse } from '../../support/http/response-requests.ts'
import { chunk, completion, type UpstreamReply } from '../../support/upstream/chat-upstream.ts'

/** Its package rejects requests before the server is asked. */
const PACKAGE = {
  id: 'package-1',
  engine: { kind: 'ai-sdk', package: '@ai-sdk/google', api_key: 'k', system_messages: 'separate' },
  capabilities: ['tools'],
  reasoning_efforts: ['extreme'],
}

let service: MeteredChatApp
let person: TestPerson
before(async () => {
  service = await startMeteredChatApp({
    plan: '{ chat_models: [far-1, brief-1, plain-1, sandbox-1, package-1] }',
    models: [PACKAGE],
  })
  person = await customer(service)
})
after(async () => {
  assert.deepEqual(await service.app.audit(), {})
  await service.close()
})

const BROKEN: UpstreamReply = { kind: 'stream', frames: [chunk({ content: 'Once upon' })], done: false }
const refused = async (changes: Record<string, unknown>, who: TestPerson = person) => {
  const { status, body } = await createResponse(service.app, who, changes)
  return [status, body.error?.code, body.error?.param]
}

test('402: without a balance no model is asked, plain or streamed', async () => {
  const poor = await customer(service, 0n)
  const before = service.upstream.requests.length
  for (const stream of [false, true]) {
    assert.deepEqual(await refused({ stream }, poor), [402, 'insufficient_credits', null])
  }
  assert.equal(service.upstream.requests.length, before)
})

test('404: an unknown model is reported before anything that depends on the model', async () => {
  const wrong = { model: 'none', previous_response_id: 'resp_none', reasoning: { effort: 'huge' } }
  assert.deepEqual(await refused(wrong), [404, 'model_not_found', 'model'])
})

test('checks are made in order: model, history, capabilities, balance, files', async () => {
  const poor = await customer(service, 0n)
  const input = [{ role: 'user', content: [{ type: 'input_image', file_id: 'file-none' }] }]
  const wrong = { reasoning: { effort: 'huge' }, input }
  const unknown = { ...wrong, previous_response_id: 'resp_none' }
  assert.deepEqual(await refused(unknown, poor), [404, 'previous_response_not_found', 'previous_response_id'])
  assert.deepEqual(await refused(wrong, poor), [400, 'unsupported_value', 'reasoning.effort'])
  assert.deepEqual(await refused({ input }, poor), [402, 'insufficient_credits', null])
  assert.deepEqual(await refused({ input }), [400, 'invalid_file', 'input[0].content[0].file_id'])
})

test('an answer that fails before its first event is an HTTP error, also when streamed', async () => {
  for (const stream of [false, true]) {
    service.upstream.reply({ kind: 'json', status: 500, body: { error: { message: 'canary/secret' } } })
    assert.deepEqual(await refused({ stream }), [502, 'upstream_error', null])
    service.upstream.reply({ kind: 'json', status: 503, body: {}, headers: { 'retry-after': '7' } })
    const busy = await createResponse(service.app, person, { stream })
    assert.deepEqual([busy.status, busy.body.error.code], [503, 'server_is_overloaded'])
    assert.equal(busy.headers.get('retry-after'), '7')
  }
  const { status, body } = await createResponse(service.app, person, { model: 'sandbox-1', input: 'sandbox:too_long' })
  assert.deepEqual([status, body.error.code, body.error.param], [400, 'context_length_exceeded', 'input'])
})

test('400: what an engine rejects has the names of the request, in the message too', async () => {
  const input = ['user', 'developer'].map((role) => ({ role, content: 'Hi' }))
  const cases = [
    [
      { reasoning: { effort: 'extreme' } },
      'reasoning.effort',
      'must be one of none, minimal, low, medium, high, xhigh, max.',
    ],
    [{ input }, 'input', 'the request has a part that this model does not take.'],
  ] as const
  for (const [changes, param, why] of cases) {
    const { status, body } = await createResponse(service.app, person, { model: 'package-1', ...changes })
    assert.deepEqual([status, body.error.param, body.error.message], [400, param, `${param}: ${why}`])
  }
})

test('a plain answer that breaks off is an HTTP error; it is not stored, and what was produced is charged', async () => {
  const payer = await customer(service)
  service.upstream.reply(BROKEN)
  const { status, body } = await createResponse(service.app, payer, { model: 'plain-1' })
  assert.deepEqual([status, body.error.code], [502, 'upstream_error'])
  const [charge, ...more] = await chargesOf(service.app, payer)
  assert.equal(more.length, 0)
  assert.ok(charge!.output_tokens! > 0)
  assert.equal(await storedCount(service, payer), 0)
})

test('a stream that breaks off ends with error, response.failed and [DONE]; it is not stored, and what was produced is charged', async () => {
  const payer = await customer(service)
  for (const reply of [BROKEN, { ...BROKEN, finally: 'reset' as const }, { ...BROKEN, done: true }]) {
    const { types, built, events, text } = await streamResponse(service, payer, { reply })
    assert.deepEqual(types.slice(-3), ['output_text.delta', 'error', 'failed'])
    assert.deepEqual([built.status, built.error.type, built.error.code], ['failed', 'server_error', 'upstream_error'])
    assert.equal(built.output[0].status, 'incomplete')
    assert.deepEqual(canariesIn(text, service.upstream), [])
    assert.equal((await readStored(service.app, payer, events[0]!.response.id)).status, 404)
  }
  const charges = await chargesOf(service.app, payer)
  assert.equal(charges.length, 3)
  assert.ok(charges.every(({ output_tokens }) => output_tokens! > 0))
  assert.equal(await storedCount(service, payer), 0)
})

test('a stream whose model server times out ends as failed', async () => {
  const reply: UpstreamReply = { ...BROKEN, finally: 'stall' }
  const { built } = await streamResponse(service, person, { reply, model: 'brief-1' })
  assert.equal(built.error.code, 'upstream_timeout')
})

test('a client that disconnects ends the run and is charged for what was produced', async () => {
  // Of its own, so that the server's arrivals and departures are this test's.
  const own = await startMeteredChatApp()
  const payer = await customer(own)
  const balance = await balanceOf(own.app, payer)
  for (const stream of [true, false]) {
    own.upstream.reply({ ...BROKEN, finally: 'stall' })
    const leaving = new AbortController()
    const gone = createResponse(own.app, payer, { model: 'plain-1', stream }, leaving.signal).catch(() => 'gone')
    await own.upstream.received()
    leaving.abort()
    assert.equal(await gone, 'gone')
    await own.upstream.left()
  }
  const charges = await chargesReaching(own.app, payer, 2)
  assert.equal(charges.length, 2)
  const spent = charges.reduce((sum, { amount }) => sum + amount, 0n)
  assert.ok(spent < 0n)
  assert.equal(await balanceOf(own.app, payer), balance + spent)
  assert.equal(await storedCount(own, payer), 0)
  assert.deepEqual(await own.app.audit(), {})
  await own.close()
})

test('400: unsupported features are named', async () => {
  for (const name of ['conversation', 'prompt', 'context_management']) {
    assert.deepEqual(await refused({ [name]: { id: 'x' } }), [400, 'unsupported_parameter', name])
  }
  assert.deepEqual(await refused({ background: true, store: false }), [400, 'invalid_value', 'background'])
})

test('405: responses are not listed', async () => {
  const response = await fetch(`${service.app.url}/v1/responses`, {
    headers: { authorization: `Bearer ${person.key}` },
  })
  assert.equal(response.status, 405)
  assert.match(response.headers.get('allow')!, /POST/)
})

test('400 for a call without its output; with the output the conversation continues', async () => {
  const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }
  service.upstream.reply({
    kind: 'json',
    body: completion({ content: null, tool_calls: [call] }, { finish_reason: 'tool_calls' }),
  })
  const tools = [{ type: 'function', name: 'look' }]
  const { body: first } = await createResponse(service.app, person, { tools })
  const next = { previous_response_id: first.id, tools }
  assert.deepEqual((await refused({ ...next, input: 'And?' })).slice(0, 2), [400, 'tool_output_missing'])
  const output = { type: 'function_call_output', call_id: 'c1', output: 'A cat.' }
  service.upstream.reply({ kind: 'json', body: completion({ content: 'A cat.' }) })
  assert.equal((await createResponse(service.app, person, { ...next, input: [output] })).status, 200)
})

async function storedCount({ app }: MeteredChatApp, { org_id }: TestPerson): Promise<number> {
  const rows = await app.database.db.selectFrom('responses').select('id').where('org_id', '=', org_id).execute()
  return rows.length
}
