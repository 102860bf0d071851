import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { openaiChat } from '../../server/engines/chat/openai/adapter.ts'
import { takingTurnsAs } from '../../server/platform/turns.ts'
import { longestTurn } from '../support/processor-time.ts'

const STREAMS = 80
const EVENTS = 4

/**
 * A chat server in a thread of its own: every `STREAMS` requests are answered together, each in events of 128 choices with 20 alternatives,
 * compressed below `/gzip`.
 */
const SERVER = `
  const { createServer } = require('node:http')
  const { gzipSync } = require('node:zlib')
  const { parentPort } = require('node:worker_threads')
  const top_logprobs = Array.from({ length: 20 }, (_, at) => ({ token: 'word' + at, logprob: -at, bytes: [119] }))
  const content = [{ token: 'word ', logprob: -1, bytes: [119], top_logprobs }]
  const choices = Array.from({ length: 128 }, (_, index) => ({ index, delta: { content: 'word ' }, logprobs: { content, refusal: null } }))
  const base = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' }
  const data = (more) => 'data: ' + JSON.stringify({ ...base, ...more }) + '\\n\\n'
  const ends = choices.map(({ index }) => ({ index, delta: {}, finish_reason: 'stop' }))
  const text = data({ choices }).repeat(${EVENTS}) + data({ choices: ends }) + 'data: [DONE]\\n\\n'
  const compressed = gzipSync(text)
  let waiting = []
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      const gzip = request.url.startsWith('/gzip')
      response.writeHead(200, { 'content-type': 'text/event-stream', ...(gzip && { 'content-encoding': 'gzip' }) })
      if (waiting.push(response) < ${STREAMS}) return
      for (const each of waiting) each.end(gzip ? compressed : text)
      waiting = []
    })
  })
  // A connection that closed between two rounds would take a request along, and leave the others waiting for it.
  server.keepAliveTimeout = 0
  server.listen(0, '127.0.0.1', function () { parentPort.postMessage(this.address().port) })
`
let server: Worker
type Engine = ReturnType<typeof openaiChat>
let plain: Engine
let gzip: Engine
before(async () => {
  server = new Worker(SERVER, { eval: true })
  const [port] = (await once(server, 'message')) as [number]
  plain = openaiChat({ kind: 'openai', base_url: `http://127.0.0.1:${port}/v1`, model: 'm' })
  gzip = openaiChat({ kind: 'openai', base_url: `http://127.0.0.1:${port}/gzip/v1`, model: 'm' })
})
after(async () => {
  for (const engine of [plain, gzip]) await engine?.close?.()
  await server.terminate()
})

const request = { model: 'm', n: 128, stream: true, messages: [{ role: 'user' as const, content: 'Hi' }] }
/** How many pieces of text an answer came in. */
async function readAnswer(engine: Engine): Promise<number> {
  let pieces = 0
  const batches = await engine.generate({ ...request, logprobs: true, top_logprobs: 20 }, new AbortController().signal)
  for await (const batch of batches) pieces += batch.filter(({ type }) => type === 'text-delta').length
  return pieces
}
const readAll = (engine: Engine) =>
  takingTurnsAs('heavy', () => Promise.all(Array.from({ length: STREAMS }, () => readAnswer(engine))))

test('no turn takes 50 ms of processor time to read the events of eighty heavy streams that come at once', async () => {
  const milliseconds = await longestTurn(() => readAll(plain))
  assert.ok(milliseconds < 50, `${milliseconds} ms`)
})

test('all events of heavy streams are read, also of compressed ones', async () => {
  for (const engine of [plain, gzip]) assert.deepEqual(new Set(await readAll(engine)), new Set([128 * EVENTS]))
})
