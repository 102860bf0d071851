import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { rawConnection } from '../support/http/raw-http.ts'
import { send } from '../support/http/send.ts'
import { effortOf } from '../support/processor-time.ts'

let app: TestApp
let ada: TestPerson
before(async () => {
  app = await startApp()
  ada = await newCustomer(app)
})
after(() => app.close())

const chunks = (text: string, size: number): string =>
  (text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? [])
    .map((each) => `${each.length.toString(16)}\r\n${each}\r\n`)
    .join('')

/** Sends a body in chunks of `size` bytes. */
async function sendChunks(text: string, size: number, { path = '/v1/chat/completions', key = ada.key } = {}) {
  const connection = await rawConnection(app.url)
  const lines = [`POST ${path} HTTP/1.1`, 'host: x', 'transfer-encoding: chunked']
  if (key !== '') lines.push(`authorization: Bearer ${key}`)
  if (path === '/v1/files') lines.push('content-type: multipart/form-data; boundary=x')
  else lines.push('content-type: application/json')
  const written = connection.write(`${lines.join('\r\n')}\r\n\r\n${chunks(text, size)}0\r\n\r\n`)
  written.catch(() => {})
  return connection
}

const body = (length: number) =>
  JSON.stringify({ model: 'sandbox-1', messages: [{ role: 'user', content: 'a'.repeat(length) }] })

test('a body in two hundred pieces of a byte is read, and a large one in pieces of some dozen', async () => {
  for (const [length, size] of [
    [150, 1],
    [200_000, 65],
  ] as const) {
    const connection = await sendChunks(body(length), size)
    assert.equal((await connection.answer()).status, 200)
    connection.close()
  }
})

test('a large body in pieces of a byte ends with its connection: 400, or behind the answer it had', async () => {
  const form = `--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n${'a'.repeat(100_000)}`
  for (const [text, options, status] of [
    [body(100_000), {}, 400],
    [form, { path: '/v1/files' }, 400],
    [body(100_000), { key: '' }, 401],
  ] as const) {
    const connection = await sendChunks(text, 1, options)
    connection.socket.on('error', () => {})
    const closed = new Promise((resolve) => connection.socket.once('close', resolve))
    const answer = await connection.answer()
    assert.equal(answer.status, status)
    if (status === 400) assert.match(JSON.parse(answer.body.toString()).error.message, /very short pieces/)
    await closed
  }
  assert.equal((await send(app, 'GET', '/healthz')).status, 200)
})

test('nothing is read of a body behind the read that brought it to its limit, by whatever handles it', async () => {
  const form = `--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n${'a'.repeat(1_000_000)}`
  const sockets: Socket[] = []
  const note = (message: unknown) => sockets.push((message as { socket: Socket }).socket)
  subscribe('net.server.socket', note)
  const connection = await sendChunks(form, 1, { path: '/v1/files' })
  connection.socket.on('error', () => {})
  const closed = new Promise((resolve) => connection.socket.once('close', resolve))
  assert.equal((await connection.answer()).status, 400)
  await closed
  unsubscribe('net.server.socket', note)
  const [{ bytesRead }] = sockets as [Socket]
  assert.ok(bytesRead < 4 * 65_536, `${bytesRead} bytes`)
})

test('the pieces behind the limit cost next to nothing, and the connections after theirs are read as ever', async () => {
  const refused = async (pieces: number) => {
    const connection = await sendChunks('a'.repeat(pieces), 1)
    connection.socket.on('error', () => {})
    const closed = new Promise((resolve) => connection.socket.once('close', resolve))
    assert.equal((await connection.answer()).status, 400)
    connection.close()
    await closed
  }
  const few = await effortOf(() => refused(300), { milliseconds: 0 })
  const many = await effortOf(() => refused(10_000), { milliseconds: 0 })
  // A clock of processor time may not have moved at all for few.
  assert.ok(
    many.milliseconds < 3 * Math.max(few.milliseconds, 1),
    `${many.milliseconds} ms, and ${few.milliseconds} ms for few`,
  )
  for (let i = 0; i < 20; i++) {
    const connection = await sendChunks(body(100), 1)
    assert.equal((await connection.answer()).status, 200)
    connection.close()
  }
})
