import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { abortOnLeaving } from '../../server/platform/http/abort-on-disconnect.ts'
import { openHttp } from '../../server/platform/http/server.ts'
import { type EventStream, encodeFrames, openEventStream } from '../../server/platform/http/sse.ts'
import { silentLog } from '../../server/platform/log.ts'
import { rawConnection } from '../support/http/raw-http.ts'

const MEBIBYTE = 1024 * 1024
const http = openHttp({ log: silentLog })
const opened: Array<(stream: EventStream) => void> = []
let url = ''
before(async () => {
  http.register(async (routes) => {
    routes.get('/events', { config: { kinora: { accepts: new Set<string>() } } }, async (_request, reply) => {
      opened.shift()!(openEventStream(reply, abortOnLeaving(reply)))
      return reply
    })
  })
  await http.listen({ port: 0, host: '127.0.0.1' })
  url = `http://127.0.0.1:${(http.server.address() as AddressInfo).port}`
})
after(async () => {
  http.server.closeAllConnections()
  await http.close()
})

async function openStream(version = '1.1') {
  const client = await rawConnection(url)
  const stream = new Promise<EventStream>((resolve) => opened.push(resolve))
  await client.write(`GET /events HTTP/${version}\r\nhost: kinora\r\nconnection: close\r\n\r\n`)
  return { client, stream: await stream }
}

/** All that a client receives until the end of its connection. */
async function receivedBy({ socket }: Awaited<ReturnType<typeof rawConnection>>): Promise<string> {
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  await new Promise((resolve) => socket.once('close', resolve))
  return Buffer.concat(pieces).toString()
}

test('frames for 20 clients that do not read take their memory once', async () => {
  const streams = await Promise.all(Array.from({ length: 20 }, () => openStream()))
  for (const { client } of streams) client.socket.pause()
  const used = () => process.memoryUsage().external + process.memoryUsage().heapUsed
  const before = used()
  const frames = encodeFrames(`data: ${'\u{1F3AC}'.repeat(4 * MEBIBYTE)}\n\n`)
  const full = streams.filter(({ stream }) => stream.write(frames) !== undefined)
  assert.equal(full.length, streams.length)
  const grown = used() - before
  // Encoded for each of them they would be twenty times as much.
  assert.ok(grown < 6 * frames.chunk.length, `${grown} bytes`)
  for (const { client } of streams) client.close()
})

test('encoded frames are what the same text is, also for a client of HTTP/1.0', async () => {
  for (const version of ['1.0', '1.1']) {
    const [text, encoded] = [await openStream(version), await openStream(version)]
    const received = [text, encoded].map(({ client }) => receivedBy(client))
    for (const frames of ['data: \u{1F3AC}\n\n', ': keepalive\n\n']) {
      text.stream.write(frames)
      encoded.stream.write(encodeFrames(frames))
    }
    for (const { stream } of [text, encoded]) stream.end('data: [DONE]\n\n')
    const bodies = (await Promise.all(received)).map((each) => each.slice(each.indexOf('\r\n\r\n')))
    assert.equal(bodies[1], bodies[0])
    assert.ok(bodies[0]!.includes('\u{1F3AC}'))
  }
})
