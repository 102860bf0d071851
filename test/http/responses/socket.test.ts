import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TestPerson } from '../../support/http/app.ts'
import {
  chargesOf,
  costOf,
  customer,
  type MeteredChatApp,
  startMeteredChatApp,
} from '../../support/http/metered-chat-app.ts'
import { send } from '../../support/http/send.ts'
import { assertError, type TurnSocket, turnSocket } from '../../support/http/socket/turns.ts'
import { textFrames, USAGE } from '../../support/upstream/chat-upstream.ts'

let service: MeteredChatApp
let person: TestPerson
let socket: TurnSocket
before(async () => {
  service = await startMeteredChatApp()
  person = await customer(service)
})
after(() => service.close())
beforeEach(async () => {
  service.upstream.requests.length = 0
  socket = await turnSocket(service.app.url, person)
})
afterEach(() => socket.close())

/** Role and text of each message that the model server was last asked with. */
const asked = () => {
  const messages = service.upstream.requests.at(-1)!.json!.messages as Array<{ role: string; content: unknown }>
  return messages.map(({ role, content }) => [role, content])
}
/** Resolves when the model server has been asked `count` times in this test. */
const askedTimes = async (count: number) => {
  while (service.upstream.requests.length < count) await nextTurn()
}
const fresh = (caller: { key: string } = person) => turnSocket(service.app.url, caller)

test('a turn sends the events of a stream, numbered from 0, without SSE framing and end mark; the response is stored', async () => {
  const { events, response } = await socket.turn({})
  assert.deepEqual(
    events.map(({ type }) => type.replace('response.', '')),
    [
      ...['created', 'in_progress', 'output_item.added', 'content_part.added', 'output_text.delta'],
      ...['output_text.done', 'content_part.done', 'output_item.done', 'completed'],
    ],
  )
  assert.deepEqual(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, i) => i),
  )
  assert.ok(events.every((event) => !('stream_id' in event)))
  assert.equal(response.output[0].content[0].text, 'Hello there.')
  const stored = await send(service.app, 'GET', `/v1/responses/${response.id}`, { key: person.key })
  assert.deepEqual([stored.status, stored.body], [200, response])
})

test('a turn is charged once, under a request id that starts with that of the handshake', async () => {
  const payer = await customer(service)
  const own = await fresh(payer)
  await own.turn({})
  await own.turn({})
  await own.close()
  const charges = await chargesOf(service.app, payer)
  const id = own.headers['x-request-id']
  assert.deepEqual(
    charges.map(({ request_id }) => request_id),
    [`${id}-1`, `${id}-2`],
  )
  const cost = costOf({ input: USAGE.prompt_tokens, output: USAGE.completion_tokens })
  assert.ok(charges.every(({ amount }) => -amount === cost))
  const logged = service.lines.map((line) => JSON.parse(line)).filter(({ request_id }) => request_id === `${id}-2`)
  assert.deepEqual(
    logged.map(({ event, status, org_id, key_id }) => [event, status, org_id, key_id]),
    [['request', 200, payer.org_id, payer.key_id]],
  )
})

test('the body may be in `response`; `stream` and `stream_options` have no effect', async () => {
  const response = { model: 'far-1', input: 'Nested', metadata: { a: 'b' } }
  socket.send({ type: 'response.create', stream_id: 'n', response: { ...response, stream: false } })
  const nested = await socket.events()
  assert.deepEqual([nested.response.status, nested.response.metadata], ['completed', { a: 'b' }])
  assert.equal(nested.last.stream_id, 'n')
  assert.deepEqual(asked(), [['user', 'Nested']])
  for (const stream of [true, false, null, 'yes']) {
    const { response: plain, events } = await socket.turn({ stream, stream_options: { include_obfuscation: true } })
    assert.equal(plain.status, 'completed')
    assert.equal(events[0]!.type, 'response.created')
  }
})

test('`background` is refused when true', async () => {
  assertError(await socket.turn({ background: true }), {
    status: 400,
    code: 'unsupported_parameter',
    param: 'background',
  })
  assert.equal((await socket.turn({ background: false })).response.status, 'completed')
})

test('`generate: false` asks no model and is free of charge; its id can be continued, stored or not', async () => {
  for (const store of [false, true]) {
    service.upstream.requests.length = 0
    const before = (await chargesOf(service.app, person)).length
    const warm = await socket.turn({ generate: false, store, input: 'Remember: blue', instructions: 'Not inherited' })
    assert.deepEqual(
      warm.events.map(({ type, sequence_number }) => [type, sequence_number]),
      [
        ['response.created', 0],
        ['response.completed', 1],
      ],
    )
    const { status, output, usage } = warm.response
    assert.deepEqual([status, output, usage.total_tokens, usage.input_tokens], ['completed', [], 0, 0])
    assert.equal(service.upstream.requests.length, 0)
    assert.equal((await chargesOf(service.app, person)).length, before)
    const { response } = await socket.turn({ store, previous_response_id: warm.response.id, input: 'Which?' })
    assert.equal(response.previous_response_id, warm.response.id)
    assert.deepEqual(asked(), [['user', 'Remember: blue\n\nWhich?']])
    const stored = await send(service.app, 'GET', `/v1/responses/${warm.response.id}`, { key: person.key })
    assert.equal(stored.status, store ? 200 : 404)
  }
})

test('`generate: false` needs no input, and is refused for an unknown model', async () => {
  const warm = await socket.turn({ generate: false, input: [], store: false })
  assert.equal(warm.response.status, 'completed')
  const next = await socket.turn({ previous_response_id: warm.response.id, input: 'Go' })
  assert.deepEqual([next.response.status, asked()], ['completed', [['user', 'Go']]])
  assertError(await socket.turn({ generate: false, model: 'nowhere-1' }), { status: 404, code: 'model_not_found' })
})

test('`stream_id` is on every event of its turn, including errors, and on no other', async () => {
  const { events } = await socket.turn({ stream_id: 'a "b" \u00e9' })
  assert.ok(events.length > 5 && events.every(({ stream_id }) => stream_id === 'a "b" \u00e9'))
  const refused = await socket.turn({ stream_id: 'c', model: 'nowhere-1' })
  assertError(refused, { status: 404, code: 'model_not_found' })
  assert.equal(refused.last.stream_id, 'c')
  service.upstream.reply({ kind: 'stream', frames: textFrames(['So far']).slice(0, 2), finally: 'reset' })
  const failed = await socket.turn({ stream_id: 'd' })
  assert.deepEqual([failed.last.type, failed.last.stream_id], ['response.failed', 'd'])
  assert.ok((await socket.turn({})).events.every((event) => !('stream_id' in event)))
})

test('turns run one at a time and are answered in the order they came', async () => {
  service.upstream.reply({ kind: 'stall' }, { kind: 'stall' }, { kind: 'stall' })
  for (const i of [0, 1, 2]) socket.send({ type: 'response.create', model: 'far-1', input: `${i}`, stream_id: `${i}` })
  for (const i of [0, 1, 2]) {
    await askedTimes(i + 1)
    assert.deepEqual([service.upstream.requests.length, asked()], [i + 1, [['user', `${i}`]]])
    service.upstream.release()
    const { events, response } = await socket.events()
    assert.equal(response.status, 'completed')
    assert.ok(events.every(({ stream_id }) => stream_id === `${i}`))
  }
})

test('a message beyond the 16 that may wait is answered with `too_many_requests`, in order; the others are served', async () => {
  service.upstream.reply({ kind: 'stall' })
  for (let i = 0; i < 20; i++) {
    socket.send({ type: 'response.create', model: 'far-1', input: 'Hi', store: false, stream_id: `${i}` })
  }
  // Behind them all, and not read either: answered last, so that nothing else can come after it.
  socket.send({ type: 'what', stream_id: 'end' })
  await askedTimes(1)
  // The service reads a message in each turn of the event loop; so many exchanges later it has read them all.
  for (let i = 0; i < 21; i++) await send(service.app, 'GET', '/v1/models', { key: person.key })
  service.upstream.release()
  const ends: Array<[string, string]> = []
  for (let i = 0; i < 21; i++) {
    const { last } = await socket.events()
    ends.push([last.stream_id, last.error?.code ?? last.type])
  }
  const wanted = Array.from({ length: 20 }, (_, i) => [`${i}`, i < 17 ? 'response.completed' : 'too_many_requests'])
  assert.deepEqual(ends, [...wanted, ['end', 'too_many_requests']])
})

test('`response.cancel` ends the active turn, which is charged for what it produced and can be continued', async () => {
  const payer = await customer(service)
  const own = await fresh(payer)
  const frames = textFrames(['So', ' far']).slice(0, 3)
  service.upstream.reply({ kind: 'stream', frames, finally: 'stall', done: false })
  const left = service.upstream.left()
  own.send({ type: 'response.create', model: 'far-1', input: 'Count' })
  let message = await own.next()
  const { id } = message.response
  while (message.type !== 'response.output_text.delta') message = await own.next()
  own.send({ type: 'response.cancel', response_id: 'resp_other' })
  own.send({ type: 'response.cancel', response_id: id })
  await left
  const { last, response } = await own.events()
  assert.deepEqual(
    [last.type, response.id, response.status, response.incomplete_details.reason, response.output[0].status],
    ['response.incomplete', id, 'cancelled', 'cancelled', 'incomplete'],
  )
  assert.equal((await chargesOf(service.app, payer))[0]!.output_tokens, response.usage.output_tokens)
  const stored = await send(service.app, 'GET', `/v1/responses/${id}`, { key: payer.key })
  assert.deepEqual([stored.status, stored.body], [200, response])
  const next = await own.turn({ input: 'Stop', previous_response_id: id })
  assert.equal(next.response.status, 'completed')
  assert.deepEqual(asked(), [['user', 'Count\n\nStop']])
  assert.equal((await chargesOf(service.app, payer)).length, 2)
  await own.close()
})

test('a compaction that is cancelled leaves the conversation as it was', async () => {
  const first = await socket.turn({ input: 'Remember the lighthouse' })
  const before = { previous_response_id: first.response.id }
  service.upstream.reply({
    kind: 'stream',
    frames: textFrames(['So', ' far']).slice(0, 3),
    finally: 'stall',
    done: false,
  })
  const left = service.upstream.left()
  socket.send({ type: 'response.create', model: 'far-1', input: [{ type: 'compaction_trigger' }], ...before })
  await socket.next()
  socket.send({ type: 'response.cancel' })
  await left
  const { response } = await socket.events()
  assert.deepEqual([response.status, response.output], ['cancelled', []])
  await socket.turn({ input: 'Go on', previous_response_id: response.id })
  assert.match(JSON.stringify(asked()), /lighthouse/)
})

test('`response.cancel` without an active turn has no effect, nor on turns that wait', async () => {
  socket.send({ type: 'response.cancel' })
  assert.equal((await socket.turn({})).response.status, 'completed')
  service.upstream.reply({ kind: 'stall' })
  const left = service.upstream.left()
  socket.send({ type: 'response.create', model: 'far-1', input: 'One' })
  socket.send({ type: 'response.create', model: 'far-1', input: 'Two' })
  await askedTimes(2)
  socket.send({ type: 'response.cancel' })
  await left
  assert.equal((await socket.events()).response.status, 'cancelled')
  assert.equal((await socket.events()).response.status, 'completed')
})

test('a failure after `response.created` is only `response.failed`; what was produced is charged', async () => {
  const payer = await customer(service)
  const own = await fresh(payer)
  service.upstream.reply({ kind: 'stream', frames: textFrames(['So far']).slice(0, 2), finally: 'reset' })
  const { events, response } = await own.turn({})
  assert.deepEqual(
    [events.at(-1)!.type, response.status, response.error.code],
    ['response.failed', 'failed', 'upstream_error'],
  )
  assert.ok(events.every(({ type }) => type !== 'error'))
  const { response: next } = await own.turn({})
  assert.equal(next.status, 'completed')
  await own.close()
  assert.equal((await chargesOf(service.app, payer)).length, 2)
  assert.equal((await send(service.app, 'GET', `/v1/responses/${response.id}`, { key: payer.key })).status, 404)
})

test('a failure before `response.created` is one `error`, with the status HTTP would have', async () => {
  service.upstream.reply({ kind: 'json', status: 500, body: { error: { message: 'secret' } } })
  assertError(await socket.turn({}), { status: 502, code: 'upstream_error' })
  service.upstream.reply({ kind: 'json', status: 429, body: { error: { message: 'secret' } } })
  assertError(await socket.turn({}), { status: 503, code: 'server_is_overloaded' })
  assertError(await socket.turn({ model: 'nowhere-1' }), { status: 404, code: 'model_not_found', param: 'model' })
  const poor = await customer(service, 0n)
  const own = await fresh(poor)
  assertError(await own.turn({}), { status: 402, code: 'insufficient_credits' })
  await own.close()
})
