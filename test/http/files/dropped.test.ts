import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { route } from '../../../server/identity/caller/route.ts'
import { openLog } from '../../../server/platform/log.ts'
import { toText } from '../../../server/platform/metrics/exposition.ts'
import { type Exposition, readExposition, sumOf } from '../../support/data/exposition.ts'
import { type FilesApp, startFiles, uploaded } from '../../support/http/files-app.ts'

const CONTENT = '/v1/files/:file_id/content'
const ANSWER = '/answer'

let app: FilesApp
const lines: Array<{ event: string }> = []
/** The service's ends of all connections, oldest first. */
const sockets: Socket[] = []

/** An answer written past Fastify, which fails with what its socket fails with. */
const answerForever = route({
  method: 'GET',
  path: ANSWER,
  auth: 'none',
  summary: 'Zeros without end',
  async handle(_ctx, { reply: { raw } }) {
    for (const zeros = Buffer.alloc(1024 * 1024); ; ) {
      await new Promise<void>((resolve, reject) => raw.write(zeros, (error) => (error ? reject(error) : resolve())))
    }
  },
})

before(async () => {
  const log = openLog('warn', { write: (line) => void lines.push(JSON.parse(line)) })
  app = await startFiles({ log, endpoints: [answerForever] })
  app.app.http.server.on('connection', (socket) => sockets.push(socket))
})
after(() => app.close())

/** Drops `count` connections once the service can send no more on any of them, half of them with a reset. */
async function dropStalled(path: string, count: number): Promise<void> {
  const first = sockets.length
  const clients = Array.from({ length: count }, () => connect(Number(new URL(app.url).port), '127.0.0.1').pause())
  const get = `GET ${path} HTTP/1.1\r\nhost: kinora\r\nauthorization: Bearer ${app.key}\r\n\r\n`
  for (const client of clients) client.on('error', () => {}).write(get)
  const ends = () => sockets.slice(first)
  while (ends().length < count || !ends().every(({ writableNeedDrain }) => writableNeedDrain))
    await new Promise(setImmediate)
  const closed = ends().map((end) => new Promise((resolve) => end.once('close', resolve)))
  for (const [i, client] of clients.entries()) {
    if (i % 2 === 0) client.destroy()
    else client.resetAndDestroy()
  }
  await Promise.all(closed)
  for (let i = 0; i < 10; i++) await new Promise(setImmediate)
}

async function scrape(): Promise<Exposition> {
  return readExposition(await toText([await app.ctx.metrics.read()]))
}

test('a stalled download that its client drops is no error, in the log or the metrics', async () => {
  const { id } = await uploaded(app, Buffer.alloc(40_000_000))
  await dropStalled(`/v1/files/${id}/content`, 20)
  assert.deepEqual(lines, [])
  assert.equal(sumOf(await scrape(), 'kinora_http_errors_total', { route: CONTENT }), 0)
})

test('an answer that fails with the socket of its client is a request that ended early, not an error of the service', async () => {
  await dropStalled(ANSWER, 20)
  const read = await scrape()
  assert.deepEqual(lines, [])
  assert.equal(sumOf(read, 'kinora_http_errors_total', { route: ANSWER }), 20)
  assert.equal(sumOf(read, 'kinora_http_errors_total', { route: ANSWER, code: 'invalid_request_error' }), 20)
  assert.equal(sumOf(read, 'kinora_refused_requests_total', { reason: 'database' }), 0)
})
