import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { openaiChat } from '../../server/engines/chat/openai/adapter.ts'
import { takingTurnsAs } from '../../server/platform/turns.ts'
import { longestTurn } from '../support/processor-time.ts'

const STREAMS = 80
const EVENTS = 4

const CODINGS = ['gzip', 'br', 'zstd']

/**
 * A chat server in a thread of its own: every `STREAMS` requests are answered together, each in events of 128 choices with 20 alternatives.
 * The first part of the path is the coding. Below `/<coding>/cut` neither the end mark nor the end of the coding comes, and below
 * `/<coding>/lost` the connection is closed, too, before the body ends.
 */
const SERVER = `
  const { createServer } = require('node:http')
  const { brotliCompressSync, constants, gzipSync, zstdCompressSync } = require('node:zlib')
  const { parentPort } = require('node:worker_threads')
  const top_logprobs = Array.from({ length: 20 }, (_, at) => ({ token: 'word' + at, logprob: -at, bytes: [119] }))
  const content = [{ token: 'word ', logprob: -1, bytes: [119], top_logprobs }]
  const choices = Array.from({ length: 128 }, (_, index) => ({ index, delta: { content: 'word ' }, logprobs: { content, refusal: null } }))
  const base = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' }
  const data = (more) => 'data: ' + JSON.stringify({ ...base, ...more }) + '\\n\\n'
  const ends = choices.map(({ index }) => ({ index, delta: {}, finish_reason: 'stop' }))
  const unmarked = data({ choices }).repeat(${EVENTS}) + data({ choices: ends })
  const text = unmarked + 'data: [DONE]\\n\\n'
  const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }
  const compressed = {
    plain: { text, cut: unmarked },
    gzip: { text: gzipSync(text), cut: gzipSync(unmarked, { finishFlush: constants.Z_SYNC_FLUSH }) },
    br: { text: brotliCompressSync(text, fast), cut: brotliCompressSync(unmarked, { ...fast, finishFlush: constants.BROTLI_OPERATION_FLUSH }) },
    zstd: { text: zstdCompressSync(text), cut: zstdCompressSync(unmarked, { finishFlush: constants.ZSTD_e_flush }) },
  }
  let waiting = []
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      const [, coding, how] = request.url.split('/')
      response.writeHead(200, { 'content-type': 'text/event-stream', ...(coding !== 'plain' && { 'content-encoding': coding }) })
      if (waiting.push({ response, how, bytes: compressed[coding] }) < ${STREAMS}) return
      for (const { response, how, bytes } of waiting) {
        if (how !== 'lost') response.end(how === 'cut' ? bytes.cut : bytes.text)
        else response.write(bytes.cut, () => response.socket.end())
      }
      waiting = []
    })
  })
  // A connection that closed between two rounds would take a request along, and leave the others waiting for it.
  server.keepAliveTimeout = 0
  server.listen(0, '127.0.0.1', function () { parentPort.postMessage(this.address().port) })
`
let server: Worker
type Engine = ReturnType<typeof openaiChat>
const engines = new Map<string, Engine>()
before(async () => {
  server = new Worker(SERVER, { eval: true })
  const [port] = (await once(server, 'message')) as [number]
  for (const coding of ['plain', ...CODINGS])
    for (const how of ['', '/cut', '/lost']) {
      const base_url = `http://127.0.0.1:${port}/${coding}${how}/v1`
      engines.set(`${coding}${how}`, openaiChat({ kind: 'openai', base_url, model: 'm' }))
    }
})
after(async () => {
  for (const engine of engines.values()) await engine.close?.()
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
  const milliseconds = await longestTurn(() => readAll(engines.get('plain')!))
  assert.ok(milliseconds < 50, `${milliseconds} ms`)
})

for (const coding of ['plain', ...CODINGS])
  test(`all events of heavy streams are read: ${coding}, also when the coding does not end and when the connection is lost`, async () => {
    for (const how of ['', '/cut', '/lost'])
      assert.deepEqual(new Set(await readAll(engines.get(`${coding}${how}`)!)), new Set([128 * EVENTS]), how)
  })
