import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { after, before, test } from 'node:test'
import { limitNetworks } from '../../server/platform/http/connections.ts'
import { type BareHttp, get, post, startBareHttp, takes } from '../support/http/bare-http.ts'
import { rawConnection } from '../support/http/raw-http.ts'

const MEBIBYTE = 1024 * 1024
let http: BareHttp['http']
let sockets: BareHttp['sockets']
let url: BareHttp['url']
let close: BareHttp['close']
before(async () => {
  ;({ http, sockets, url, close } = await startBareHttp(async (routes) => {
    routes.get('/now', takes(), async () => ({}))
    routes.post('/echo', takes('json'), async (request) => request.body)
    routes.post('/refuse', { ...takes('json'), onRequest: refuse }, async () => ({}))
  }))
})
after(() => close())

async function refuse(): Promise<void> {
  throw Object.assign(new Error('refused'), { statusCode: 403 })
}

/** Sends all it has before it reads, as many clients do. */
async function sendFirst(head: string, bytes: number): Promise<{ status: number; headers: Record<string, string> }> {
  const connection = await rawConnection(url)
  await connection.write(head)
  for (let sent = 0; sent < bytes; sent += MEBIBYTE)
    await connection.write(Buffer.alloc(Math.min(MEBIBYTE, bytes - sent), ' '))
  const answer = await connection.answer()
  connection.close()
  return answer
}

test('413 reaches a client that sends its whole body first, and the connection ends after it', async () => {
  const bytes = 70 * MEBIBYTE
  const { status, headers } = await sendFirst(post('/echo', `content-length: ${bytes}`), bytes)
  assert.deepEqual([status, headers.connection], [413, 'close'])
})

test('every other refusal before the body reaches such a client too', async () => {
  const bytes = 20 * MEBIBYTE
  for (const [path, wanted] of [
    ['/refuse', 400],
    ['/nowhere', 404],
  ] as const) {
    const { status, headers } = await sendFirst(post(path, `content-length: ${bytes}`), bytes)
    assert.deepEqual([status, headers.connection], [wanted, 'close'], path)
  }
})

test('a small body that is refused unread is read away, and the connection goes on', async () => {
  const connection = await rawConnection(url)
  for (let i = 0; i < 3; i++) {
    await connection.write(`${post('/refuse', 'content-length: 10')}0123456789`)
    const { status, headers } = await connection.answer()
    assert.deepEqual([status, headers.connection], [400, 'keep-alive'])
  }
  connection.close()
})

test('a refused body is read away up to 128 MiB, then its connection is cut', async () => {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.resume()
  const send = (bytes: string | Buffer) =>
    new Promise<boolean>((resolve) => socket.write(bytes, (error) => resolve(!error)))
  await send(post('/refuse', `content-length: ${1000 * MEBIBYTE}`))
  const more = Buffer.alloc(MEBIBYTE)
  while (await send(more));
  const read = sockets.at(-1)!.bytesRead
  assert.ok(read >= 128 * MEBIBYTE && read < 130 * MEBIBYTE, `${read} bytes were read`)
})

test('a request refused for its Transfer-Encoding ends the connection: nothing after it is answered', async () => {
  const hidden = get('/now')
  const encodings = ['gzip, chunked', 'identity, chunked', 'chunked, chunked', 'xchunked', 'chunked, identity', 'x']
  for (const encoding of encodings) {
    for (const path of ['/echo', '/nowhere', '/refuse']) {
      const connection = await rawConnection(url)
      await connection.write(`${post(path, `transfer-encoding: ${encoding}`)}0\r\n\r\n${hidden}${hidden}`)
      const { status, headers } = await connection.answer()
      assert.deepEqual([status, headers.connection], [400, 'close'], `${encoding} ${path}`)
      await assert.rejects(connection.answer(), /connection ended after 0 bytes/, `${encoding} ${path}`)
    }
  }
})

test('connections that are kept open and do nothing make room for new ones', async () => {
  const { maxConnections } = http.server
  http.server.closeAllConnections()
  http.server.maxConnections = 3
  try {
    const kept = await Promise.all([1, 2, 3].map(() => rawConnection(url)))
    for (const connection of kept) {
      await connection.write('GET /now HTTP/1.1\r\nhost: x\r\n\r\n')
      assert.equal((await connection.answer()).status, 200)
    }
    const refused = await rawConnection(url)
    await assert.rejects(refused.answer(), /connection ended/)
    for (const connection of kept) await assert.rejects(connection.answer(), /connection ended/)
    const next = await rawConnection(url)
    await next.write('GET /now HTTP/1.1\r\nhost: x\r\n\r\n')
    assert.equal((await next.answer()).status, 200)
    next.close()
  } finally {
    http.server.maxConnections = maxConnections
  }
})

test('one address takes no more than its share of the connections, unless it is a trusted proxy', async () => {
  for (const isProxy of [false, true]) {
    const server = createServer((_, response) => response.end('ok'))
    limitNetworks(server, () => isProxy, 2)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const ask = async () => {
      const connection = await rawConnection(own)
      await connection.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n').catch(() => {})
      return connection
    }
    const [first, second] = [await ask(), await ask()]
    for (const each of [first, second]) assert.equal((await each.answer()).status, 200)
    const third = await ask()
    if (isProxy) assert.equal((await third.answer()).status, 200)
    else await assert.rejects(third.answer())
    first.close()
    while (!isProxy && (await connectionsOf(server)) > 1) await new Promise(setImmediate)
    const next = await ask()
    assert.equal((await next.answer()).status, 200)
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

const connectionsOf = (server: Server) =>
  new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)))
