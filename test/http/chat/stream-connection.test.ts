import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { openHttp } from '../../../server/platform/http/server.ts'
import { openEventStream } from '../../../server/platform/http/sse.ts'
import { silentLog } from '../../../server/platform/log.ts'
import type { TestPerson } from '../../support/http/app.ts'
import {
  ask,
  chargesOf,
  customer,
  eventsOf,
  type MeteredChatApp,
  startMeteredChatApp,
} from '../../support/http/metered-chat-app.ts'
import { rawConnection } from '../../support/http/raw-http.ts'
import { chunk, textFrames } from '../../support/upstream/chat-upstream.ts'
import { readChunks } from './chunks.ts'

let service: MeteredChatApp
let person: TestPerson
before(async () => {
  service = await startMeteredChatApp()
  person = await customer(service)
})
after(() => service.close())

test('200: keepalive comments are sent between events, never within one', async () => {
  const { app: front } = await startMeteredChatApp({ beside: service, timing: { keepalive_seconds: 0.02 } })
  const frames = textFrames(['Hel', 'lo']).slice(0, -1)
  service.upstream.reply({ kind: 'stream', frames, done: false, finally: 'stall' })
  const connection = await rawConnection(front.url)
  let text = ''
  const ended = new Promise<void>((resolve) => connection.socket.on('end', resolve).on('close', resolve))
  connection.socket.on('data', (bytes) => {
    text += bytes
    if (text.split(': keepalive\n\n').length > 3) service.upstream.release()
  })
  await connection.write(requestOf(front.url, { model: 'far-1', stream: true }))
  await ended
  await front.close()
  const body = text
    .slice(text.indexOf('\r\n\r\n') + 4)
    .replace(/(^|\r\n)[0-9a-f]+\r\n/g, '')
    .replace(/\r\n$/, '')
  const { choices } = readChunks(eventsOf(body), { include_usage: false })
  assert.equal(choices[0]!.content, 'Hello')
})

test('a client that never reads has at most a megabyte buffered, is cut off and charged for what was produced; others are not affected', async () => {
  const { app: front } = await startMeteredChatApp({ beside: service, timing: { stalled_seconds: 0.3 } })
  const sockets = new Set<Socket>()
  front.app.http.server.on('connection', (socket: Socket) => sockets.add(socket))
  const sleeper = await customer(service)
  service.upstream.reply({ kind: 'flood', frame: chunk({ content: 'word '.repeat(40) }) })
  const connection = await rawConnection(front.url)
  connection.socket.pause()
  await connection.write(requestOf(front.url, { model: 'far-1', stream: true }, sleeper.key))
  let most = 0
  const watch = setInterval(() => {
    most = Math.max(most, ...[...sockets].map(({ writableLength }) => writableLength))
  }, 1)
  await service.upstream.received()
  const messages = [{ role: 'user', content: 'sandbox:long' }]
  const other = await ask(front, person, { model: 'sandbox-1', stream: true, messages })
  readChunks(eventsOf(other.text), { include_usage: false })
  await service.upstream.left()
  clearInterval(watch)
  await front.close()
  connection.close()
  const [bill, ...more] = await chargesOf(service.app, sleeper)
  assert.equal(more.length, 0)
  assert.ok(bill!.output_tokens! > 10_000, 'charged for what was made')
  assert.ok(most > 0 && most <= 1024 * 1024, `${most} bytes waited`)
})

test('a client that stops reading before the very end is cut off too', async () => {
  const http = openHttp({ log: silentLog })
  const left = new AbortController()
  http.get('/', async (_, reply) => {
    const events = openEventStream(reply, left, { keepalive_seconds: 15, stalled_seconds: 0.1 })
    // Until the connection takes no more, and no further: nothing then waits for it to be drained.
    while (reply.raw.writableLength === 0) {
      events.write(`data: ${'x'.repeat(16_000)}\n\n`)
      await new Promise(setImmediate)
    }
    events.end('data: [DONE]\n\n')
    return reply
  })
  const url = await http.listen({ host: '127.0.0.1', port: 0 })
  const connection = await rawConnection(url)
  connection.socket.pause()
  await connection.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(left.signal, 'abort')
  connection.close()
  await http.close()
})

test('no work continues for a client that disconnected before its stream was opened', async () => {
  const http = openHttp({ log: silentLog })
  const opened = Promise.withResolvers<string[]>()
  http.get('/', async (_, reply) => {
    const left = new AbortController()
    await once(reply.raw, 'close')
    left.abort()
    const before = process.getActiveResourcesInfo().length
    openEventStream(reply, left)
    opened.resolve(process.getActiveResourcesInfo().slice(before))
    return reply
  })
  const connection = await rawConnection(await http.listen({ host: '127.0.0.1', port: 0 }))
  await connection.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  connection.close()
  assert.deepEqual(await opened.promise, [])
  await http.close()
})

test('a client that disconnects ends its request to the model server and is charged for what was produced', async () => {
  const leaver = await customer(service)
  service.upstream.reply({ kind: 'stream', frames: textFrames(['So far']).slice(0, 2), done: false, finally: 'stall' })
  const connection = await rawConnection(service.app.url)
  const read = new Promise<void>((resolve) =>
    connection.socket.on('data', (bytes) => void (String(bytes).includes('So far') && resolve())),
  )
  await connection.write(requestOf(service.app.url, { model: 'far-1', stream: true }, leaver.key))
  await read
  connection.close()
  await service.upstream.left()
  for (let bills: unknown[] = []; bills.length === 0; ) bills = await chargesOf(service.app, leaver)
  const [bill, ...more] = await chargesOf(service.app, leaver)
  assert.equal(more.length, 0)
  assert.deepEqual([bill!.input_tokens, bill!.output_tokens], [7, 2])
})

function requestOf(url: string, changes: object, key = person.key): string {
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], ...changes })
  const lines = [`host: ${new URL(url).host}`, `authorization: Bearer ${key}`, 'content-type: application/json']
  return [
    'POST /v1/chat/completions HTTP/1.1',
    ...lines,
    `content-length: ${body.length}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}
