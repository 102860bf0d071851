import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { publicPost, publicRequest } from './client.ts'
import { readAll } from './exchange.ts'

/** A server that answers with these bytes, then with `endless` until it is disconnected. */
async function receiver(t: TestContext, answer: Buffer | string, endless?: string) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    const pump = () => {
      while (socket.write(endless!));
    }
    socket.once('data', () => {
      socket.write(answer)
      if (endless === undefined) return
      socket.on('drain', pump)
      pump()
    })
  }).listen(0, '127.0.0.1')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { origin, options: { body: '{}', trusted_origins: [origin], timeout_ms: 60_000 }, sockets }
}

/** How often undici reports `event` until the test ends. */
function counted(t: TestContext, event: string): () => number {
  let count = 0
  const add = () => {
    count += 1
  }
  subscribe(event, add)
  t.after(() => unsubscribe(event, add))
  return () => count
}

const EARLY_HINTS = 'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n'

test('one informational answer is passed over; the second ends the exchange with an outside server', async (t) => {
  const polite = await receiver(t, `${EARLY_HINTS}HTTP/1.1 204 No Content\r\n\r\n`)
  assert.equal((await publicPost(polite.origin, polite.options)).status, 204)
  const heads = counted(t, 'undici:request:headers')
  const endless = await receiver(t, EARLY_HINTS, EARLY_HINTS.repeat(1000))
  await assert.rejects(publicPost(endless.origin, { ...endless.options, timeout_ms: 1000 }), { reason: 'unreadable' })
  assert.equal(heads(), 2)
})

test('of a body whose beginning is wanted two chunks are read at most, however many come with the head', async (t) => {
  const pieces = counted(t, 'undici:request:bodyChunkReceived')
  const chunks = '1\r\na\r\n'.repeat(10_000)
  const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
  const { origin, options, sockets } = await receiver(t, head + chunks, chunks)
  const { status, beginning } = await publicPost(origin, options)
  assert.equal(status, 200)
  assert.match(Buffer.from(beginning!).toString(), /^aa?$/)
  const [socket] = sockets
  if (!socket!.closed) await new Promise((resolve) => socket!.once('close', resolve))
  assert.ok(pieces() <= 2, `${pieces()} chunks`)
})

test('a body of an outside server in many short frames of zstd is unreadable', async (t) => {
  const frames = Buffer.concat(Array.from({ length: 1000 }, () => zstdCompressSync('')))
  const head = `HTTP/1.1 200 OK\r\ncontent-encoding: zstd\r\ncontent-length: ${frames.length}\r\n\r\n`
  const { origin, options } = await receiver(t, Buffer.concat([Buffer.from(head), frames]))
  const { body } = await publicRequest(origin, { ...options, method: 'POST', max_bytes: 1_000_000 })
  await assert.rejects(readAll(body), { reason: 'unreadable' })
})
