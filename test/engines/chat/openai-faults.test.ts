import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatRequest } from '../../../server/engines/chat/contract.ts'
import { openaiChat } from '../../../server/engines/chat/openai/adapter.ts'
import type { EngineErrorKind } from '../../../server/engines/engine-error.ts'
import { completion, type UpstreamReply } from '../../support/upstream/chat-upstream.ts'
import { live } from './contract.ts'
import { cut, error, faultOf, frames, LEAK_MARKER, plain, status, streamed, withEngine } from './faulty-server.ts'

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
