import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { ChatEvent, ChatRequest } from '../../../server/engines/chat/contract.ts'
import { type OpenaiChatOptions, openaiChat } from '../../../server/engines/chat/openai/adapter.ts'
import { EngineError, type EngineErrorKind } from '../../../server/engines/engine-error.ts'
import {
  type ChatUpstream,
  chunk,
  completion,
  startChatUpstream,
  type UpstreamReply,
} from '../../support/upstream/chat-upstream.ts'
import { assertEventOrder, live, textRequest } from './contract.ts'

const LEAK_MARKER = 'leak-marker host upstream.internal model secret-model'
const plain = textRequest('m')
const streamed = textRequest('m', { stream: true })
const cut = JSON.stringify(completion({ content: 'Hello' })).slice(0, 60)
const error = (code: unknown, message = LEAK_MARKER, type = 'x') => ({ error: { message, type, param: null, code } })
const status = (code: number, body: unknown = error(code), headers = {}): UpstreamReply => ({
  kind: 'json',
  status: code,
  body,
  headers,
})
const frames = (list: Array<object | string>, more: object = {}): UpstreamReply => ({
  kind: 'stream',
  frames: list,
  ...more,
})
const json = { 'content-type': 'application/json' }

/** What goes wrong before any part of an answer, and the fault it is. */
const REFUSALS: Array<[what: string, reply: UpstreamReply, fault: EngineErrorKind, requests?: ChatRequest[]]> = [
  ...statuses([400, 413, 422], 'rejected'),
  ...statuses([401, 402, 403, 404, 500, 502, 418, 301], 'failed'),
  ...statuses([408, 504], 'timeout'),
  ...statuses([429, 503, 529], 'overloaded'),
  ['status 500 with HTML', status(500, `<html>${LEAK_MARKER}</html>`), 'failed'],
  ['HTML instead of JSON', status(200, `<html>${LEAK_MARKER}</html>`), 'failed'],
  ['truncated JSON', status(200, cut, json), 'failed'],
  ['JSON that is no answer', status(200, { hello: LEAK_MARKER }), 'failed'],
  ['JSON that is no object', status(200, '[1]', json), 'failed'],
  ['an error object with status 200', status(200, error(503)), 'overloaded'],
  ['a reset before the head', { kind: 'reset' }, 'failed'],
  ['something that is not HTTP', { kind: 'raw', bytes: `EHLO ${LEAK_MARKER}\r\n\r\n` }, 'failed'],
  ['silence before the head', { kind: 'stall' }, 'timeout'],
  [
    'a body shorter than promised',
    { kind: 'raw', bytes: `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n${cut}` },
    'failed',
  ],
  ['a stream of nothing', frames([]), 'failed', [streamed]],
  ['an empty body', status(200, '', json), 'failed'],
  [
    'status 429 whose body breaks off',
    {
      kind: 'raw',
      bytes: 'HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{"err',
    },
    'overloaded',
  ],
  ['a path that it does not have', status(404, { detail: 'Not Found' }), 'failed'],
  ['a page with status 404', status(404, '<html>'), 'failed'],
  ['a model that it does not have', status(404, error('model_not_found')), 'failed'],
  ['a model that it does not have, in words', status(400, error(null, 'The model `x/y` does not exist.')), 'failed'],
  ['its own filter', status(400, { error: { ...error('content_filter').error, innererror: {} } }), 'moderation'],
  ['credit spent, with status 400', status(400, error('Arrearage')), 'failed'],
  ['a stream of garbage', frames([`data: ${LEAK_MARKER}\n\n`]), 'failed', [streamed]],
  ['an error as its first event', frames([error('rate_limit_exceeded')]), 'overloaded', [streamed]],
  [
    'a refusal as its first event',
    frames([{ object: 'error', message: LEAK_MARKER, type: 'BadRequestError', code: 400 }]),
    'rejected',
    [streamed],
  ],
  ['a line of 2 MB', frames([`data: ${'x'.repeat(2_000_000)}\n\n`]), 'failed', [streamed]],
  [
    'an answer of too few choices without usage',
    status(200, completion({ content: 'x' }, { usage: null })),
    'failed',
    [{ ...plain, n: 2 }],
  ],
]

function statuses(codes: number[], fault: EngineErrorKind): Array<[string, UpstreamReply, EngineErrorKind]> {
  return codes.map((code) => [`status ${code}`, status(code), fault])
}

for (const [what, reply, fault, requests = [plain, streamed]] of REFUSALS) {
  test(`${fault}: ${what}`, () =>
    withEngine(fault === 'timeout' ? { idle_seconds: 0.3, total_seconds: 0.6 } : {}, async ({ engine, upstream }) => {
      for (const request of requests) {
        upstream.reply(reply)
        const refused = await faultOf(engine.generate(request, live()))
        assert.equal(refused.kind, fault)
      }
    }))
}

/** What goes wrong in the middle: the events before it still come. */
const BREAKS: Array<[what: string, reply: UpstreamReply, fault: EngineErrorKind]> = [
  ['a reset', frames([chunk({ content: 'Hel' })], { done: false, finally: 'reset' }), 'failed'],
  ['an end without finish_reason', frames([chunk({ content: 'Hel' })]), 'failed'],
  ['an end without finish_reason and [DONE]', frames([chunk({ content: 'Hel' })], { done: false }), 'failed'],
  [
    'a [DONE] from nowhere',
    frames([chunk({ content: 'Hel' }), 'data: [DONE]\n\n', chunk({}, { finish_reason: 'stop' })]),
    'failed',
  ],
  ['silence', frames([chunk({ content: 'Hel' })], { done: false, finally: 'stall' }), 'timeout'],
  ['an error event', frames([chunk({ content: 'Hel' }), error(500)]), 'failed'],
  [
    'an error event after the reason',
    frames([chunk({ content: 'Hel' }), chunk({}, { finish_reason: 'stop' }), error(500)]),
    'failed',
  ],
  ['an error event of no capacity', frames([chunk({ content: 'Hel' }), error('overloaded')]), 'overloaded'],
  ['a refusal that comes too late', frames([chunk({ content: 'Hel' }), error(400)]), 'failed'],
  ['truncated JSON', frames([chunk({ content: 'Hel' }), `data: ${cut}\n\n`]), 'failed'],
  ['a line of 2 MB', frames([chunk({ content: 'Hel' }), `data: ${'x'.repeat(2_000_000)}\n\n`]), 'failed'],
  [
    'a tool call without a name',
    frames([
      chunk({ content: 'Hel' }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }, { finish_reason: 'tool_calls' }),
    ]),
    'failed',
  ],
]

for (const [what, reply, fault] of BREAKS) {
  test(`${fault} in mid-stream: ${what}`, () =>
    withEngine(fault === 'timeout' ? { idle_seconds: 0.3 } : {}, async ({ engine, upstream }) => {
      upstream.reply(reply)
      const events: ChatEvent[] = []
      const broken = await faultOf(collect(await engine.generate(streamed, live()), events))
      assert.equal(broken.kind, fault)
      assert.deepEqual(events[0], { type: 'text-delta', choice: 0, text: 'Hel' })
      assert.ok(!events.some(({ type }) => type === 'end'))
    }))
}

test('timeout: an answer that trickles in forever is ended at the total limit', () =>
  withEngine({ idle_seconds: 5, total_seconds: 0.5 }, async ({ engine, upstream }) => {
    upstream.reply({ kind: 'flood', frame: chunk({ content: 'x' }) })
    const answer = engine.generate(streamed, live()).then((events) => collect(events, []))
    const broken = await faultOf(answer)
    assert.equal(broken.kind, 'timeout')
    await upstream.left()
  }))

test('an answer whose choices have all finished is complete, whatever happens then', () =>
  withEngine({ idle_seconds: 0.3 }, async ({ engine, upstream }) => {
    const finished = [chunk({ content: 'Hello' }), chunk({}, { finish_reason: 'stop' })]
    const cases = [
      { done: false },
      { done: false, finally: 'reset' },
      { done: false, finally: 'stall' },
      { finally: 'stall' },
    ]
    for (const more of cases) {
      upstream.reply(frames(finished, more))
      const events: ChatEvent[] = []
      await collect(await engine.generate(streamed, live()), events)
      assertEventOrder(events, 1)
      assert.deepEqual(events.at(-1), { type: 'end', usage: null })
    }
  }))

test('context_length: with the numbers, from a status and from the first event', () =>
  withEngine({}, async ({ engine, upstream }) => {
    const message =
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    const llama = {
      error: { code: 400, message: 'too big', type: 'exceed_context_size_error', n_prompt_tokens: 9000, n_ctx: 8192 },
    }
    const replies = [
      status(400, error('context_length_exceeded', message)),
      status(400, llama),
      status(500, error(500, message)),
    ]
    for (const reply of [...replies, frames([{ error: { message, type: 'BadRequestError', code: 400 } }])]) {
      upstream.reply(reply)
      const refused = await faultOf(engine.generate(streamed, live()))
      assert.equal(refused.kind, 'context_length')
      assert.deepEqual(refused.tokens, { limit: 8192, asked: 9000 })
    }
  }))

test('overloaded: names the wait before a retry', () =>
  withEngine({}, async ({ engine, upstream }) => {
    const waits = [{ 'retry-after': '7' }, { 'retry-after-ms': '1500' }, { 'retry-after': 'soon' }, {}]
    const seconds: unknown[] = []
    for (const headers of waits) {
      upstream.reply(status(429, error(429), headers))
      seconds.push((await faultOf(engine.generate(plain, live()))).retry_after_seconds)
    }
    assert.deepEqual(seconds, [7, 1.5, undefined, undefined])
  }))

test('unreachable: connection refused, or a name that does not resolve', async () => {
  for (const base_url of ['http://127.0.0.1:9', 'http://does-not-exist.invalid']) {
    const engine = openaiChat({ kind: 'openai', base_url })
    assert.equal((await faultOf(engine.generate(plain, live()))).kind, 'unreachable')
    await engine.close?.()
  }
})

test('refused credentials and spent credit are logged for the operator, with what the server says but no host', async () => {
  const alarms: string[] = []
  const log = { error: (event: string, fields?: object) => void alarms.push(event + JSON.stringify(fields)), warn() {} }
  await withEngine(
    {},
    async ({ engine, upstream }) => {
      for (const reply of [
        status(401),
        status(403),
        status(402),
        status(429, error('insufficient_quota')),
        status(200, error('insufficient_quota')),
        frames([error(402)]),
        status(500),
        status(429),
      ]) {
        upstream.reply(reply)
        await faultOf(engine.generate(plain, live()))
      }
    },
    log,
  )
  assert.equal(alarms.length, 6)
  assert.ok(alarms.every((alarm) => alarm.includes('leak-marker') && !/upstream\.internal|127\.0/.test(alarm)))
})

test('after a hundred broken calls no connection is left open but those that can be used again', () =>
  withEngine({}, async ({ engine, upstream }) => {
    const broken: UpstreamReply[] = [
      { kind: 'reset' },
      status(500, 'x'.repeat(200_000)),
      frames([chunk({ content: 'a' })], { done: false, finally: 'stall' }),
      frames([`data: ${LEAK_MARKER}\n\n`]),
    ]
    for (let i = 0; i < 100; i++) {
      upstream.reply(broken[i % broken.length]!)
      const leaving = new AbortController()
      await engine
        .generate(streamed, leaving.signal)
        .then((events) => events[Symbol.asyncIterator]().next())
        .catch(() => {})
      leaving.abort()
    }
    const events: ChatEvent[] = []
    await collect(await engine.generate(streamed, live()), events)
    assertEventOrder(events, 1)
    while (upstream.connections().open > 2) await new Promise((resolve) => setImmediate(resolve))
  }))

test('a compressed answer with more behind its end than is read leaves no connection open', async (t) => {
  const events = [chunk({ content: 'Hello' }), chunk({}, { finish_reason: 'stop' })]
  const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  const bytes = gzipSync(`${text}data: [DONE]\n\n: ${randomBytes(4_000_000).toString('base64')}\n\n`)
  let open = 0
  const server = createServer((request, response) => {
    open += 1
    response.once('close', () => {
      open -= 1
    })
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }).end(bytes)
  }).listen(0, '127.0.0.1')
  t.after(() => void server.close().closeAllConnections())
  await once(server, 'listening')
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const engine = openaiChat({ kind: 'openai', base_url })
  t.after(() => engine.close?.())
  const answers = Array.from({ length: 40 }, async () => {
    const read: ChatEvent[] = []
    await collect(await engine.generate(streamed, live()), read)
    assertEventOrder(read, 1)
  })
  await Promise.all(answers)
  while (open > 0) await new Promise((resolve) => setImmediate(resolve))
})

type Subject = { upstream: ChatUpstream; engine: ReturnType<typeof openaiChat> }

async function withEngine(
  options: Partial<OpenaiChatOptions>,
  body: (subject: Subject) => Promise<void>,
  log?: { error(event: string, fields?: object): void; warn(): void },
): Promise<void> {
  const upstream = await startChatUpstream()
  const engine = openaiChat({ kind: 'openai', base_url: upstream.url, ...options }, log ? { log } : {})
  try {
    await body({ upstream, engine })
  } finally {
    await engine.close?.()
    await upstream.close()
  }
}

async function collect(events: AsyncIterable<readonly ChatEvent[]>, into: ChatEvent[]): Promise<void> {
  for await (const batch of events) into.push(...batch)
}

/** The fault a call ends with. Its message is ours: nothing of the server, its address or its words. */
async function faultOf(outcome: Promise<unknown>): Promise<EngineError> {
  const failure = await outcome.then(
    () => null,
    (reason: unknown) => reason,
  )
  assert.ok(failure instanceof EngineError, `ended with ${failure}`)
  assert.doesNotMatch(
    `${failure.message} ${JSON.stringify(failure)}`,
    /leak-marker|127\.0\.0\.1|invalid|secret|maximum/,
  )
  return failure
}
