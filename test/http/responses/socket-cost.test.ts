import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { customer, grant, type MeteredChatApp, startMeteredChatApp } from '../../support/http/metered-chat-app.ts'
import { rawConnection } from '../../support/http/raw-http.ts'
import { handshakeText, openSocket } from '../../support/http/socket/client.ts'
import { assertError, turnSocket } from '../../support/http/socket/turns.ts'
import { longestTurn } from '../../support/processor-time.ts'

let service: MeteredChatApp
before(async () => {
  service = await startMeteredChatApp()
})
after(() => service.close())

const MEBIBYTE = 1024 * 1024

/** A connection after its handshake, on which the bytes of frames can be written as they are. */
async function rawSocket({ key }: { key: string }) {
  const connection = await rawConnection(service.app.url)
  await connection.write(handshakeText({ authorization: `Bearer ${key}` }))
  return connection
}

/** One text frame of spaces, whose mask changes nothing. */
function unmasked(size: number): Buffer {
  const message = Buffer.alloc(14 + size, ' ')
  message.set([0x81, 0xff, 0, 0, 0, 0])
  message.writeUInt32BE(size, 6)
  message.fill(0, 10, 14)
  return message
}

const brackets = (depth: number) => `{"type":"response.create","x":${'['.repeat(depth)}${']'.repeat(depth)}}`

test('20 MB of brackets never block the event loop for 50 ms of CPU time', async () => {
  const socket = await turnSocket(service.app.url, await customer(service))
  const message = brackets(10_000_000)
  const milliseconds = await longestTurn(async () => {
    socket.send(message)
    assertError(await socket.events(), { status: 400, code: 'invalid_value' })
  })
  assert.ok(milliseconds < 50, `${milliseconds} ms`)
  await socket.close()
})

test('1009 for a message of more than 64 MiB', async () => {
  const { key } = await customer(service)
  const socket = await openSocket(service.app.url, { headers: { authorization: `Bearer ${key}` } })
  socket.ws.send(' '.repeat(64 * MEBIBYTE + 1))
  assert.equal((await socket.closed).code, 1009)
})

test('20 sockets of one organization, each in the middle of a message of 60 MB, hold no more than its share', async () => {
  const person = await customer(service)
  const other = await turnSocket(service.app.url, await customer(service))
  const { budget } = service.app.ctx
  const message = unmasked(60_000_000).subarray(0, -1)
  const before = process.memoryUsage().arrayBuffers
  const attackers = await Promise.all(Array.from({ length: 20 }, () => rawSocket(person)))
  for (const { socket } of attackers) socket.write(message)
  while (budget.held(person.org_id) < 60 * MEBIBYTE) await nextTurn()
  other.send({ type: 'response.create', model: 'sandbox-1', input: 'Hello' })
  assert.equal((await other.events()).response.status, 'completed')
  const grown = process.memoryUsage().arrayBuffers - before
  assert.ok(grown < 200 * MEBIBYTE, `${grown} bytes`)
  assert.ok(budget.held(person.org_id) <= 104 * MEBIBYTE)
  for (const { close } of attackers) close()
  await other.close()
  while (budget.held() > 0) await nextTurn()
})

test('402 before a message is parsed, whatever its content', async () => {
  const socket = await turnSocket(service.app.url, await customer(service, 0n))
  for (const message of [
    '{',
    '[]',
    '{"type":"what"}',
    brackets(70),
    brackets(1_000_000),
    '{"type":"response.create"}',
  ]) {
    socket.send(message)
    assertError(await socket.events(), { status: 402, code: 'insufficient_credits' })
  }
  socket.send({ type: 'response.create', stream_id: 'mine', input: 'x'.repeat(200_000) })
  assert.equal((await socket.events()).last.stream_id, 'mine')
  await socket.close()
})

test('a refused message over 1 MiB is not parsed for its stream_id', async () => {
  const message = { type: 'response.create', stream_id: 'mine', model: 'none', input: 'x '.repeat(600_000) }
  for (const [balance, code, stream_id] of [
    [10_000n, 'model_not_found', 'mine'],
    [0n, 'insufficient_credits', undefined],
  ] as const) {
    const socket = await turnSocket(service.app.url, await customer(service, balance))
    socket.send(message)
    const { last } = await socket.events()
    assert.deepEqual([last.error.code, last.stream_id], [code, stream_id])
    await socket.close()
  }
})

test('a waiting message is parsed when its turn starts, and the balance at that time decides', async () => {
  const person = await customer(service)
  const socket = await turnSocket(service.app.url, person)
  service.upstream.requests.length = 0
  service.upstream.reply({ kind: 'stall' })
  socket.send({ type: 'response.create', model: 'far-1', input: 'Hi' })
  while (service.upstream.requests.length < 1) await nextTurn()
  socket.send('{')
  const { balance } = await service.app.database.db
    .selectFrom('accounts')
    .select('balance')
    .where('org_id', '=', person.org_id)
    .executeTakeFirstOrThrow()
  await grant(service.app, person, -balance)
  service.upstream.release()
  assert.equal((await socket.events()).response.status, 'completed')
  assertError(await socket.events(), { status: 402, code: 'insufficient_credits' })
  await socket.close()
})

test('every message counts against the rate limit, also unparsable ones', async () => {
  const limited = await startMeteredChatApp({ plan: '{ requests_per_minute: 4 }' })
  const socket = await turnSocket(limited.app.url, await customer(limited))
  const codes: string[] = []
  for (const message of ['{', '{"type":"what"}', brackets(70), '{', brackets(1_000_000)]) {
    socket.send(message)
    codes.push((await socket.events()).last.error.code)
  }
  const wanted = ['invalid_json', 'unknown_event', 'invalid_value', 'rate_limit_exceeded', 'rate_limit_exceeded']
  assert.deepEqual(codes, wanted)
  await socket.close()
  await limited.close()
})
