import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { countTokens } from '../../../server/platform/tokenizer.ts'
import type { TestPerson } from '../../support/http/app.ts'
import {
  ask,
  balanceOf,
  canariesIn,
  chargesOf,
  costOf,
  customer,
  eventsOf,
  type MeteredChatApp,
  startMeteredChatApp,
} from '../../support/http/metered-chat-app.ts'
import { chunk, textFrames, type UpstreamReply, USAGE } from '../../support/upstream/chat-upstream.ts'

let service: MeteredChatApp
let person: TestPerson
before(async () => {
  service = await startMeteredChatApp()
  person = await customer(service)
})
after(() => service.close())

type Bill = { input: number; cached?: number; output: number; reasoning?: number }
/**
 * A reply of the model server and what becomes of it. `text`: what the client has read of the answer; with `late` an error event
 * follows it. `early`: an HTTP error. `bill`: tokens charged. `only`: for requests that stream, or do not.
 */
type Case = {
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

const CASES: Record<string, Case> = {
  'refuses its credentials': { reply: failed(401), early: [502, 'upstream_error'], bill: NOTHING },
  'has another path': { reply: failed(404), early: [400, 'invalid_request_error'], bill: NOTHING },
  'fails with 500': { reply: failed(500), early: [502, 'upstream_error'], bill: NOTHING },
  'fails with 502': { reply: failed(502), early: [502, 'upstream_error'], bill: NOTHING },
  'is overloaded': { reply: failed(503), early: [503, 'server_is_overloaded'], bill: NOTHING },
  'states when to retry': {
    reply: failed(429, { 'retry-after': '7' }),
    ...{ early: [503, 'server_is_overloaded'], retry_after: '7', bill: NOTHING },
  },
  'asks to retry in an hour': {
    reply: failed(429, { 'retry-after': '3600' }),
    ...{ early: [503, 'server_is_overloaded'], retry_after: '60', bill: NOTHING },
  },
  'finds the request too long': {
    reply: {
      kind: 'json',
      status: 400,
      body: {
        error: { message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens." },
      },
    },
    ...{ early: [400, 'context_length_exceeded'], bill: NOTHING },
  },
  'answers with a page instead of JSON': {
    reply: { kind: 'json', body: '<html>canary/secret-upstream-model</html>' },
    ...{ early: [502, 'upstream_error'], bill: NOTHING },
  },
  'answers with a page and an error': {
    reply: { kind: 'json', status: 503, body: '<html>busy</html>' },
    ...{ early: [503, 'server_is_overloaded'], bill: NOTHING },
  },
  'hangs up before its headers': { reply: { kind: 'reset' }, early: [502, 'upstream_error'], bill: NOTHING },
  'does not speak HTTP': {
    reply: { kind: 'raw', bytes: 'NONSENSE\r\n\r\n' },
    early: [502, 'upstream_error'],
    bill: NOTHING,
  },
  'stalls before its headers': {
    reply: { kind: 'stall' },
    ...{ model: 'brief-1', early: [504, 'upstream_timeout'], bill: NOTHING },
  },
  'stalls after its headers': {
    reply: stream([], { done: false, finally: 'stall' }),
    ...{ model: 'brief-1', early: [504, 'upstream_timeout'], bill: NOTHING },
  },
  'stalls in its answer': {
    reply: stream(begun('So far'), { done: false, finally: 'stall' }),
    ...{ model: 'brief-1', late: 'upstream_timeout', text: 'So far', bill: counted('So far') },
  },
  'hangs up in its answer': {
    reply: stream(begun('So far'), { done: false, finally: 'reset' }),
    ...{ late: 'upstream_error', text: 'So far', bill: counted('So far') },
  },
  'disconnects before it has sent anything': {
    reply: stream([chunk({ role: 'assistant', content: '' })], { done: false, finally: 'reset' }),
    ...{ early: [502, 'upstream_error'], bill: NOTHING },
  },
  'ends without a finish reason': {
    reply: stream(begun('So far'), { done: false }),
    ...{ late: 'upstream_error', text: 'So far', bill: counted('So far') },
  },
  'sends [DONE] without a finish reason': {
    reply: stream(begun('So far')),
    ...{ late: 'upstream_error', text: 'So far', bill: counted('So far') },
  },
  'reports an error in its answer': {
    reply: stream([...begun('So far'), { error: { message: 'canary/secret-upstream-model broke', code: 500 } }]),
    ...{ late: 'upstream_error', text: 'So far', bill: counted('So far') },
  },
  'writes JSON that is cut off': {
    reply: stream([...begun('So far'), 'data: {"choices":[{"ind\n\n'], { done: false }),
    ...{ late: 'upstream_error', text: 'So far', bill: counted('So far') },
  },
  'writes a line of 2 MB': {
    reply: stream([...begun('So far'), chunk({ content: 'x'.repeat(2_000_000) }), ended(USAGE)]),
    ...{ late: 'upstream_error', text: 'So far', bill: counted('So far') },
  },
  'answers a plain request with JSON that is cut off': {
    reply: {
      kind: 'raw',
      bytes: 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n{"choices":[',
    },
    ...{ only: 'plain', early: [502, 'upstream_error'], bill: NOTHING },
  },
  'breaks off a plain answer': {
    reply: {
      kind: 'raw',
      bytes: 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 400\r\n\r\n{"choices":[',
    },
    ...{ only: 'plain', early: [502, 'upstream_error'], bill: NOTHING },
  },
  'answers a plain request without choices': {
    reply: { kind: 'json', body: { choices: [], usage: USAGE } },
    ...{ only: 'plain', early: [502, 'upstream_error'], bill: NOTHING },
  },
  'separates events by CRLF, a few bytes at a time': {
    reply: stream(textFrames(['Grüße, ', '世界 ', '🙂']), { line_break: '\r\n', piece_bytes: 3 }),
    ...{ text: 'Grüße, 世界 🙂', bill: PRODUCED },
  },
  'writes one byte at a time': {
    reply: stream(textFrames(['héllo']), { piece_bytes: 1 }),
    text: 'héllo',
    bill: PRODUCED,
  },
  'sends [DONE] and line breaks within a text': {
    reply: stream(textFrames(['data: [DONE]\n\n', '\r\ndata: x\r\n\r\n'])),
    ...{ text: 'data: [DONE]\n\n\r\ndata: x\r\n\r\n', bill: PRODUCED },
  },
  'never sends [DONE]': { reply: stream(textFrames(['Hi']), { done: false }), text: 'Hi', bill: PRODUCED },
  'hangs up after its finish reason, before the usage': {
    reply: stream([...begun('Hi'), ended()], { done: false, finally: 'reset' }),
    ...{ text: 'Hi', bill: counted('Hi') },
  },
  'gives its usage twice': {
    reply: stream([...begun('Hi'), ended({ prompt_tokens: 1, completion_tokens: 1 }), { choices: [], usage: USAGE }]),
    ...{ text: 'Hi', bill: PRODUCED },
  },
  'gives no usage': { reply: stream([...begun('Hi there'), ended()]), text: 'Hi there', bill: counted('Hi there') },
  'gives its usage as zero': {
    reply: stream([...begun('Hi'), ended({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })]),
    ...{ text: 'Hi', bill: NOTHING },
  },
  'gives a usage that is none': {
    reply: stream([...begun('Hi'), ended({ prompt_tokens: -1, completion_tokens: 'many' })]),
    ...{ text: 'Hi', bill: counted('Hi') },
  },
  'gives a usage beyond all bounds': {
    reply: stream([...begun('Hi'), ended({ prompt_tokens: 9_007_199_254_740_991, completion_tokens: 3_000_000_000 })]),
    ...{ text: 'Hi', bill: counted('Hi') },
  },
  'gives details of its usage': {
    reply: stream([
      ...begun('Hi'),
      ended({
        ...{ prompt_tokens: 100, completion_tokens: 50 },
        ...{ prompt_tokens_details: { cached_tokens: 64 }, completion_tokens_details: { reasoning_tokens: 40 } },
      }),
    ]),
    ...{ text: 'Hi', bill: { input: 100, cached: 64, output: 50, reasoning: 40 } },
  },
  'finishes for a reason nobody knows': {
    reply: stream([...begun('Hi'), chunk({}, { finish_reason: 'eos_token', usage: USAGE })]),
    ...{ text: 'Hi', bill: PRODUCED, sees: (choice) => assert.equal(choice.finish_reason, 'stop') },
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

for (const [name, row] of Object.entries(CASES)) {
  for (const kind of ['stream', 'plain'] as const) {
    if (row.only && row.only !== kind) continue
    test(`a model server that ${name}: ${kind === 'stream' ? 'streamed' : 'a plain answer'}`, () => check(row, kind))
  }
}

test('503 while the model server is down, and answers once it is up again', async () => {
  const lost = await startMeteredChatApp()
  const person = await customer(lost)
  await lost.upstream.close()
  for (const stream of [true, false]) {
    const { status, json } = await ask(lost.app, person, { stream })
    assert.deepEqual([status, json.error.code, json.error.type], [503, 'server_is_overloaded', 'server_error'])
  }
  const bills = await chargesOf(lost.app, person)
  assert.deepEqual(
    bills.map(({ amount, input_tokens }) => [amount, input_tokens]),
    [
      [0n, 0],
      [0n, 0],
    ],
  )
  assert.deepEqual(canariesIn(lost.lines.join(''), lost.upstream), [])
  assert.equal((await ask(lost.app, person, { model: 'sandbox-1' })).status, 200)
  await lost.close().catch(() => {})
})

async function check(row: Case, kind: 'stream' | 'plain'): Promise<void> {
  const { app, upstream, lines } = service
  const before = lines.length
  const balance = await balanceOf(app, person)
  upstream.reply(row.reply)
  const answer = await ask(app, person, { model: row.model ?? 'far-1', stream: kind === 'stream' })
  const { status, headers, text, json } = answer
  assert.match(headers.get('x-request-id')!, /^req_/)
  if (row.early || (row.late && kind === 'plain')) {
    const expected = row.early ?? LATE_STATUS[row.late!]!
    assert.deepEqual([status, json.error.code], expected, text)
    assert.deepEqual(Object.keys(json.error).toSorted(), ['code', 'message', 'param', 'type'])
    if (row.retry_after) assert.equal(headers.get('retry-after'), row.retry_after)
  } else if (kind === 'stream') {
    checkStream(row, text)
  } else {
    assert.equal(status, 200, text)
    assert.equal(json.choices[0].message.content ?? '', row.text)
    assert.deepEqual([json.usage.prompt_tokens, json.usage.completion_tokens], [row.bill.input, row.bill.output])
    row.sees?.({ ...json.choices[0].message, finish_reason: json.choices[0].finish_reason })
  }
  await checkBill(row.bill, { request_id: headers.get('x-request-id')!, balance })
  assert.deepEqual(canariesIn(text + JSON.stringify([...headers]), upstream), [], 'sent to the client')
  assert.deepEqual(canariesIn(lines.slice(before).join(''), upstream), [], 'written to the log')
  // The service is well, and so is the next answer.
  assert.equal((await ask(app, person)).json.choices[0].message.content, 'Hello there.')
}

const LATE_STATUS: Record<string, [number, string]> = {
  upstream_error: [502, 'upstream_error'],
  upstream_timeout: [504, 'upstream_timeout'],
}

function checkStream({ text: expected, late, bill, sees }: Case, text: string): void {
  const events = eventsOf(text)
  assert.equal(events.at(-1), '[DONE]')
  const chunks = events.filter((event) => event.choices)
  const deltas = chunks.map(({ choices }) => choices[0])
  assert.equal(deltas.map(({ delta }) => delta.content ?? '').join(''), expected)
  assert.ok(bill.input >= 0)
  if (late) {
    assert.equal(events.at(-2).error.code, late)
    assert.equal(events.length, chunks.length + 2)
    assert.ok(deltas.every(({ finish_reason }) => finish_reason === null))
    return
  }
  assert.equal(events.length, chunks.length + 1)
  if (!sees) return
  const calls: Array<{ id: string; function: { name: string; arguments: string } }> = []
  for (const { delta } of deltas) {
    for (const { index, id, function: called } of delta.tool_calls ?? []) {
      if (id) calls[index] = { id, function: { ...called } }
      else calls[index]!.function.arguments += called.arguments
    }
  }
  sees({ tool_calls: calls, finish_reason: deltas.at(-1).finish_reason })
}

async function checkBill(bill: Bill, before: { request_id: string; balance: bigint }): Promise<void> {
  const bills = await chargesOf(service.app, person)
  const [charge, ...more] = bills.filter(({ request_id }) => request_id === before.request_id)
  assert.equal(more.length, 0)
  const { input, cached = 0, output, reasoning = 0 } = bill
  assert.deepEqual(
    [charge!.input_tokens, charge!.cached_input_tokens, charge!.output_tokens, charge!.reasoning_tokens],
    [input, cached, output, reasoning],
  )
  assert.equal(-charge!.amount, costOf(bill))
  assert.equal(await balanceOf(service.app, person), before.balance - costOf(bill))
}
