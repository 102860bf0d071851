import assert from 'node:assert/strict'
import { countTokens } from '../../../server/platform/tokenizer.ts'
import { chunk, textFrames, UPSTREAM_MODEL, type UpstreamReply, USAGE } from '../../support/upstream/chat-upstream.ts'

/** Tokens that are charged. */
export type Bill = { input: number; cached?: number; output: number; reasoning?: number }
/**
 * A reply of the model server and what becomes of it. `text`: what the client has read of the answer; with `late` an error event
 * follows it. `early`: an HTTP error. `bill`: tokens charged. `only`: for requests that stream, or do not.
 */
export type UpstreamCase = {
  reply: UpstreamReply
  early?: [status: number, code: string]
  late?: string
  text?: string
  bill: Bill
  model?: string
  retry_after?: string
  only?: 'stream' | 'plain'
  // biome-ignore lint/suspicious/noExplicitAny: looks into chunks of many shapes.
  sees?: (choice: any) => void
}

const NOTHING: Bill = { input: 0, output: 0 }
/** By our own count: the request is 3 tokens for the answer, 3 for its message and 1 for `Hello`. */
const counted = (text: string): Bill => ({ input: 7, output: countTokens(text) })
const PRODUCED: Bill = { input: 9, output: 2 }
const failed = (status: number, headers: Record<string, string> = {}): UpstreamReply => ({
  kind: 'json',
  status,
  headers,
  body: { error: { message: 'canary/secret-upstream-model at 127.0.0.1 is out of order', code: null, type: 'x' } },
})
const stream = (frames: ReadonlyArray<object | string>, more: object = {}): UpstreamReply => ({
  kind: 'stream',
  frames,
  ...more,
})
const begun = (text: string) => [chunk({ role: 'assistant', content: '' }), chunk({ content: text })]
const ended = (usage?: unknown) => chunk({}, { finish_reason: 'stop', ...(usage === undefined ? {} : { usage }) })
const part = (index: number, more: object, args?: string) =>
  chunk({
    tool_calls: [
      {
        index,
        ...more,
        function: {
          ...(args === undefined ? {} : { arguments: args }),
          ...('name' in more ? { name: more.name } : {}),
        },
      },
    ],
  })

/** By what the model server does. */
export const UPSTREAM_CASES: Readonly<Record<string, UpstreamCase>> = {
  'refuses its credentials': { reply: failed(401), early: [502, 'upstream_error'], bill: NOTHING },
  'has another path': {
    reply: { kind: 'json', status: 404, body: { detail: 'Not Found' } },
    early: [502, 'upstream_error'],
    bill: NOTHING,
  },
  'does not know its model': {
    reply: { kind: 'json', status: 404, body: { error: { message: `The model ${UPSTREAM_MODEL} does not exist.` } } },
    early: [502, 'upstream_error'],
    bill: NOTHING,
  },
  'refuses the request': { reply: failed(400), early: [400, 'invalid_request_error'], bill: NOTHING },
  'refuses it by its content filter': {
    reply: {
      kind: 'json',
      status: 400,
      body: { error: { message: 'canary/secret-upstream-model filtered it', code: 'content_filter', param: 'prompt' } },
    },
    early: [400, 'content_filter'],
    bill: NOTHING,
  },
  'fails with 500': { reply: failed(500), early: [502, 'upstream_error'], bill: NOTHING },
  'fails with 502': { reply: failed(502), early: [502, 'upstream_error'], bill: NOTHING },
  'is overloaded': { reply: failed(503), early: [503, 'server_is_overloaded'], bill: NOTHING },
  'states when to retry': {
    reply: failed(429, { 'retry-after': '7' }),
    early: [503, 'server_is_overloaded'],
    retry_after: '7',
    bill: NOTHING,
  },
  'asks to retry in an hour': {
    reply: failed(429, { 'retry-after': '3600' }),
    early: [503, 'server_is_overloaded'],
    retry_after: '60',
    bill: NOTHING,
  },
  'finds the request too long': {
    reply: {
      kind: 'json',
      status: 400,
      body: {
        error: { message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens." },
      },
    },
    early: [400, 'context_length_exceeded'],
    bill: NOTHING,
  },
  'answers with a page instead of JSON': {
    reply: { kind: 'json', body: '<html>canary/secret-upstream-model</html>' },
    early: [502, 'upstream_error'],
    bill: NOTHING,
  },
  'answers with a page and an error': {
    reply: { kind: 'json', status: 503, body: '<html>busy</html>' },
    early: [503, 'server_is_overloaded'],
    bill: NOTHING,
  },
  'hangs up before its headers': { reply: { kind: 'reset' }, early: [502, 'upstream_error'], bill: NOTHING },
  'does not speak HTTP': {
    reply: { kind: 'raw', bytes: 'NONSENSE\r\n\r\n' },
    early: [502, 'upstream_error'],
    bill: NOTHING,
  },
  'stalls before its headers': {
    reply: { kind: 'stall' },
    model: 'brief-1',
    early: [504, 'upstream_timeout'],
    bill: NOTHING,
  },
  'stalls after its headers': {
    reply: stream([], { done: false, finally: 'stall' }),
    model: 'brief-1',
    early: [504, 'upstream_timeout'],
    bill: NOTHING,
  },
  'stalls in its answer': {
    reply: stream(begun('So far'), { done: false, finally: 'stall' }),
    model: 'brief-1',
    late: 'upstream_timeout',
    text: 'So far',
    bill: counted('So far'),
  },
  'hangs up in its answer': {
    reply: stream(begun('So far'), { done: false, finally: 'reset' }),
    late: 'upstream_error',
    text: 'So far',
    bill: counted('So far'),
  },
  'disconnects before it has sent anything': {
    reply: stream([chunk({ role: 'assistant', content: '' })], { done: false, finally: 'reset' }),
    early: [502, 'upstream_error'],
    bill: NOTHING,
  },
  'ends without a finish reason': {
    reply: stream(begun('So far'), { done: false }),
    late: 'upstream_error',
    text: 'So far',
    bill: counted('So far'),
  },
  'sends [DONE] without a finish reason': {
    reply: stream(begun('So far')),
    late: 'upstream_error',
    text: 'So far',
    bill: counted('So far'),
  },
  'reports an error in its answer': {
    reply: stream([...begun('So far'), { error: { message: 'canary/secret-upstream-model broke', code: 500 } }]),
    late: 'upstream_error',
    text: 'So far',
    bill: counted('So far'),
  },
  'writes JSON that is cut off': {
    reply: stream([...begun('So far'), 'data: {"choices":[{"ind\n\n'], { done: false }),
    late: 'upstream_error',
    text: 'So far',
    bill: counted('So far'),
  },
  'writes a line of 2 MB': {
    reply: stream([...begun('So far'), chunk({ content: 'x'.repeat(2_000_000) }), ended(USAGE)]),
    text: `So far${'x'.repeat(2_000_000)}`,
    bill: PRODUCED,
  },
  'answers a plain request with JSON that is cut off': {
    reply: {
      kind: 'raw',
      bytes: 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n{"choices":[',
    },
    only: 'plain',
    early: [502, 'upstream_error'],
    bill: NOTHING,
  },
  'breaks off a plain answer': {
    reply: {
      kind: 'raw',
      bytes: 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 400\r\n\r\n{"choices":[',
    },
    only: 'plain',
    early: [502, 'upstream_error'],
    bill: NOTHING,
  },
  'answers a plain request without choices': {
    reply: { kind: 'json', body: { choices: [], usage: USAGE } },
    only: 'plain',
    early: [502, 'upstream_error'],
    bill: NOTHING,
  },
  'separates events by CRLF, a few bytes at a time': {
    reply: stream(textFrames(['Grüße, ', '世界 ', '🙂']), { line_break: '\r\n', piece_bytes: 3 }),
    text: 'Grüße, 世界 🙂',
    bill: PRODUCED,
  },
  'writes one byte at a time': {
    reply: stream(textFrames(['héllo']), { piece_bytes: 1 }),
    text: 'héllo',
    bill: PRODUCED,
  },
  'sends [DONE] and line breaks within a text': {
    reply: stream(textFrames(['data: [DONE]\n\n', '\r\ndata: x\r\n\r\n'])),
    text: 'data: [DONE]\n\n\r\ndata: x\r\n\r\n',
    bill: PRODUCED,
  },
  'never sends [DONE]': { reply: stream(textFrames(['Hi']), { done: false }), text: 'Hi', bill: PRODUCED },
  'hangs up after its finish reason, before the usage': {
    reply: stream([...begun('Hi'), ended()], { done: false, finally: 'reset' }),
    text: 'Hi',
    bill: counted('Hi'),
  },
  'gives its usage twice': {
    reply: stream([...begun('Hi'), ended({ prompt_tokens: 1, completion_tokens: 1 }), { choices: [], usage: USAGE }]),
    text: 'Hi',
    bill: PRODUCED,
  },
  'gives no usage': { reply: stream([...begun('Hi there'), ended()]), text: 'Hi there', bill: counted('Hi there') },
  'gives its usage as zero': {
    reply: stream([...begun('Hi'), ended({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })]),
    text: 'Hi',
    bill: counted('Hi'),
  },
  'gives a usage that is none': {
    reply: stream([...begun('Hi'), ended({ prompt_tokens: -1, completion_tokens: 'many' })]),
    text: 'Hi',
    bill: counted('Hi'),
  },
  'gives a usage beyond all bounds': {
    reply: stream([...begun('Hi'), ended({ prompt_tokens: 9_007_199_254_740_991, completion_tokens: 3_000_000_000 })]),
    text: 'Hi',
    bill: counted('Hi'),
  },
  'gives details of its usage': {
    reply: stream([
      ...begun('Hi'),
      ended({
        prompt_tokens: 100,
        completion_tokens: 50,
        prompt_tokens_details: { cached_tokens: 64 },
        completion_tokens_details: { reasoning_tokens: 40 },
      }),
    ]),
    text: 'Hi',
    bill: { input: 100, cached: 64, output: 50, reasoning: 40 },
  },
  'finishes for a reason nobody knows': {
    reply: stream([...begun('Hi'), chunk({}, { finish_reason: 'eos_token', usage: USAGE })]),
    text: 'Hi',
    bill: PRODUCED,
    sees: (choice) => assert.equal(choice.finish_reason, 'stop'),
  },
  'mixes the pieces of two tool calls': {
    reply: stream([
      part(1, { id: 'call_b', name: 'look' }, '{"b"'),
      part(0, { id: 'call_a', name: 'look' }, '{"a"'),
      part(1, {}, ':1}'),
      part(0, {}, ':2}'),
      chunk({}, { finish_reason: 'tool_calls', usage: USAGE }),
    ]),
    text: '',
    bill: PRODUCED,
    sees: ({ tool_calls, finish_reason }) => {
      assert.equal(finish_reason, 'tool_calls')
      assert.deepEqual(
        tool_calls.map((call: { id: string; function: object }) => [call.id, call.function]),
        [
          ['call_b', { name: 'look', arguments: '{"b":1}' }],
          ['call_a', { name: 'look', arguments: '{"a":2}' }],
        ],
      )
    },
  },
}
