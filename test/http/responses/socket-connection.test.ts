import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { newColleague, type TestPerson } from '../../support/http/app.ts'
import {
  balanceOf,
  chargesReaching,
  customer,
  type MeteredChatApp,
  startMeteredChatApp,
} from '../../support/http/metered-chat-app.ts'
import { send } from '../../support/http/send.ts'
import { handshake, openSocket } from '../../support/http/socket/client.ts'
import { assertError, turnSocket } from '../../support/http/socket/turns.ts'
import { chunk, textFrames } from '../../support/upstream/chat-upstream.ts'

let service: MeteredChatApp
let person: TestPerson
before(async () => {
  service = await startMeteredChatApp()
  person = await customer(service)
})
after(() => service.close())

const CREATE = { type: 'response.create', model: 'far-1', input: 'Hello' }
const bearer = ({ key }: { key: string }) => ({ authorization: `Bearer ${key}` })
type Headers = Record<string, string | null>
const shake = (headers: Headers, request?: string) => handshake(service.app.url, headers, request)
/** Resolves when the model server has been asked once more than `before`. */
const askedSince = async (before: number) => {
  while (service.upstream.requests.length <= before) await nextTurn()
}

test('401 with an error body, before any upgrade, for a missing or invalid key', async () => {
  const cases: Array<[Record<string, string>, string]> = [
    [{}, 'missing_api_key'],
    [{ authorization: 'Bearer kin_x' }, 'invalid_api_key'],
    [{ authorization: `Basic ${person.key}` }, 'invalid_api_key'],
    [{ cookie: 'session=none' }, 'missing_api_key'],
    [{ authorization: 'Bearer x', cookie: person.cookie, origin: service.app.url }, 'invalid_api_key'],
  ]
  for (const [headers, code] of cases) {
    const answer = await shake(headers)
    const { error } = JSON.parse(String(answer.body))
    assert.deepEqual([answer.status, error.code, error.param], [401, code, null])
    assert.equal(answer.headers['www-authenticate'], 'Bearer')
    assert.match(answer.headers['x-request-id']!, /^req_[0-9a-f]{32}$/)
  }
})

test('405 for GET without a handshake, or with one for another protocol; 401 first', async () => {
  const plain: Headers[] = [{ upgrade: null, connection: null }, { upgrade: 'h2c' }, { connection: 'close' }]
  for (const headers of plain) {
    const answer = await shake({ ...headers, ...bearer(person) })
    assert.deepEqual([answer.status, answer.headers.allow], [405, 'POST'])
    assert.equal(JSON.parse(String(answer.body)).error.code, 'method_not_allowed')
    assert.equal((await shake(headers)).status, 401)
  }
})

test('other requests that offer an upgrade are answered as usual', async () => {
  const { key } = person
  const headers = {
    connection: 'Upgrade, HTTP2-Settings',
    upgrade: 'h2c',
    'http2-settings': 'AAMAAABk',
    ...bearer({ key }),
  }
  assert.equal((await shake(headers, 'GET /v1/models')).status, 200)
  assert.equal((await shake(bearer({ key }), 'GET /v1/models')).status, 200)
  assert.equal((await shake(bearer({ key }), 'GET /v1/nothing')).status, 404)
  assert.equal((await shake({ ...bearer({ key }), 'content-length': '0' }, 'POST /v1/responses')).status, 400)
})

test('400 for an invalid handshake, 101 with a trailing slash and a query', async () => {
  const broken: Headers[] = [{ 'sec-websocket-key': null }, { 'sec-websocket-version': '12' }]
  for (const wrong of broken) {
    const answer = await shake({ ...wrong, ...bearer(person) })
    assert.deepEqual([answer.status, answer.headers['sec-websocket-version']], [400, '13'])
    assert.equal(JSON.parse(String(answer.body)).error.type, 'invalid_request_error')
  }
  for (const path of ['/v1/responses/', '/v1/responses?model=far-1']) {
    const client = await openSocket(service.app.url, { path, headers: bearer(person) })
    await client.close()
  }
})

test('a console session can connect only from our own origin, until it ends', async () => {
  const { cookie } = person
  const own = service.app.url
  const wrong: Array<Record<string, string>> = [
    {},
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: own, 'sec-fetch-site': 'cross-site' },
    { origin: `${own}.evil.example` },
  ]
  for (const headers of wrong) {
    const answer = await shake({ cookie, ...headers })
    assert.deepEqual([answer.status, JSON.parse(String(answer.body)).error.code], [403, 'csrf_failed'])
  }
  const visitor = await newColleague(service.app, person.org_id)
  const client = await openSocket(own, { headers: { cookie: visitor.cookie, origin: own } })
  client.send(CREATE)
  while ((await client.next()).type !== 'response.completed');
  await send(service.app, 'POST', '/console/auth/sign-out', { cookie: visitor.cookie, headers: { origin: own } })
  client.send(CREATE)
  const last = await client.next()
  assertError({ events: [last], last }, { status: 401, code: 'missing_api_key' })
  assert.equal((await client.closed).code, 1008)
})

test('after a key is revoked the active turn ends, all later turns are refused, then 1008', async () => {
  const spare = await send(service.app, 'POST', '/console/api_keys', { cookie: person.cookie }, { name: 'spare' })
  const socket = await turnSocket(service.app.url, { key: spare.body.key })
  const before = service.upstream.requests.length
  service.upstream.reply({ kind: 'stall' })
  for (const stream_id of ['a', 'b', 'c']) socket.send({ ...CREATE, stream_id })
  await askedSince(before)
  await send(service.app, 'DELETE', `/console/api_keys/${spare.body.id}`, { cookie: person.cookie })
  service.upstream.release()
  assert.equal((await socket.events()).response.status, 'completed')
  for (const stream_id of ['b', 'c']) {
    const refused = await socket.events()
    assertError(refused, { status: 401, code: 'invalid_api_key' })
    assert.equal(refused.last.stream_id, stream_id)
  }
  assert.equal((await socket.closed).code, 1008)
})

test('the rate limit counts the handshake and every turn', async () => {
  const limited = await startMeteredChatApp({ plan: '{ requests_per_minute: 3 }' })
  const caller = await customer(limited)
  const socket = await turnSocket(limited.app.url, caller)
  assert.equal(socket.headers['x-ratelimit-remaining-requests'], '2')
  await socket.turn({})
  await socket.turn({})
  assertError(await socket.turn({}), {
    status: 429,
    code: 'rate_limit_exceeded',
    message: /Please try again in \d+\.\ds\.$/,
  })
  assert.equal((await handshake(limited.app.url, bearer(caller))).status, 429)
  limited.app.clock.advance(21)
  assert.equal((await socket.turn({})).response.status, 'completed')
  await socket.close()
  await limited.close()
})

test('a client that disconnects during a turn ends it and is charged once for what was produced', async () => {
  for (const leave of ['close', 'terminate'] as const) {
    const payer = await customer(service)
    const balance = await balanceOf(service.app, payer)
    const socket = await turnSocket(service.app.url, payer)
    service.upstream.reply({
      kind: 'stream',
      frames: textFrames(['So', ' far']).slice(0, 3),
      finally: 'stall',
      done: false,
    })
    const left = service.upstream.left()
    socket.send(CREATE)
    // It waits behind the turn that is cut, and is never begun.
    socket.send(CREATE)
    while ((await socket.next()).type !== 'response.output_text.delta');
    const before = service.upstream.requests.length
    socket.ws[leave]()
    await left
    const [charge, ...others] = await chargesReaching(service.app, payer, 1)
    assert.deepEqual(others, [])
    assert.ok(charge!.input_tokens! > 0 && charge!.output_tokens! > 0)
    assert.equal(await balanceOf(service.app, payer), balance + charge!.amount)
    assert.equal(service.upstream.requests.length, before)
  }
})

test('a client that never reads blocks only its own turn, is disconnected and charged; others are not delayed', async () => {
  const { app: front } = await startMeteredChatApp({ beside: service, timing: { stalled_seconds: 0.3 } })
  const payer = await customer(service)
  const socket = await turnSocket(front.url, payer)
  service.upstream.reply({ kind: 'flood', frame: chunk({ content: 'x'.repeat(4000) }) })
  const left = service.upstream.left()
  socket.send({ ...CREATE, store: false })
  await socket.next()
  socket.ws.pause()
  const other = await turnSocket(front.url, person)
  assert.equal((await other.turn({})).response.status, 'completed')
  await other.close()
  await left
  // What the buffers of two sockets hold, and no more.
  assert.ok(service.upstream.flooded() < 100_000_000, `${service.upstream.flooded()} bytes`)
  assert.equal((await chargesReaching(service.app, payer, 1)).length, 1)
  socket.ws.resume()
  await socket.closed
  await front.close()
})

test('a connection over its lifetime gets an error between turns, also for each waiting message, then 1000', async () => {
  const { app: front } = await startMeteredChatApp({ beside: service, timing: { lifetime_seconds: 0.2 } })
  const idle = await turnSocket(front.url, person)
  const busy = await turnSocket(front.url, person)
  const before = service.upstream.requests.length
  service.upstream.reply({ kind: 'stall' })
  for (const stream_id of ['a', 'b']) busy.send({ ...CREATE, stream_id })
  await askedSince(before)
  assertError(await idle.events(), { status: 400, code: 'websocket_connection_limit_reached' })
  assert.equal((await idle.closed).code, 1000)
  service.upstream.release()
  assert.equal((await busy.events()).response.status, 'completed')
  const refused = await busy.events()
  assertError(refused, { status: 400, code: 'websocket_connection_limit_reached' })
  assert.equal(refused.last.stream_id, 'b')
  await assert.rejects(busy.next())
  assert.equal((await busy.closed).code, 1000)
  assert.equal(service.upstream.requests.length, before + 1)
  await front.close()
})

test('when the service stops, the active turn ends, waiting messages get an error, then 1001; new handshakes are 503', async () => {
  const closing = await startMeteredChatApp()
  const caller = await customer(closing)
  const idle = await turnSocket(closing.app.url, caller)
  const busy = await turnSocket(closing.app.url, caller)
  closing.upstream.reply({ kind: 'stall' })
  for (const stream_id of ['a', 'b']) busy.send({ ...CREATE, stream_id })
  while (closing.upstream.requests.length === 0) await nextTurn()
  const closed = closing.app.app.close()
  assert.equal((await idle.closed).code, 1001)
  closing.upstream.release()
  assert.equal((await busy.events()).response.status, 'completed')
  assertError(await busy.events(), { status: 503, code: 'server_is_overloaded' })
  assert.equal((await busy.closed).code, 1001)
  await closed
  assert.equal((await chargesReaching(closing.app, caller, 1)).length, 1)
  await closing.app.database.close()
  await closing.upstream.close()
})
