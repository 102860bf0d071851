import assert from 'node:assert/strict'
import fc from 'fast-check'
import { storableEvents } from '../../server/chat/storable-events.ts'
import type { ChatEvent, FinishReason } from '../../server/engines/chat/contract.ts'
import { systemClock } from '../../server/platform/clock.ts'
import { ApiError } from '../../server/platform/errors.ts'
import type { ResponseEvent } from '../../server/responses/events/event.ts'
import { responseWriter } from '../../server/responses/events/writer.ts'
import type { ToolOrigin } from '../../server/responses/request/tools.ts'
import type { ResponseObject } from '../../server/responses/schema/response.ts'
import { acceptStream, type Wire } from '../support/data/response-grammar.ts'
import { law } from '../support/law.ts'
import { trials } from '../tiers.ts'

const RUNS = trials(2000)

const TOOLS = new Map<string, ToolOrigin>([
  ['patch', { kind: 'custom', name: 'patch' }],
  ['shop__find', { kind: 'function', name: 'find', namespace: 'shop' }],
  ['shop__note', { kind: 'custom', name: 'note', namespace: 'shop' }],
])

/** Text as a server may split it: anywhere, also within a surrogate pair. */
const piece = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.constantFrom('', ' ', '{"a":1}', '}', '\ud83d', '\ude00', '😀', '\u2028', '"', '\\'),
)
const logprob = fc.record({
  token: fc.string({ maxLength: 2 }),
  logprob: fc.constant(-1),
  bytes: fc.constantFrom<number[] | null>(null, [104]),
  top_logprobs: fc.array(
    fc.record({ token: fc.constant('h'), logprob: fc.constant(-2), bytes: fc.constant<number[] | null>(null) }),
    { maxLength: 1 },
  ),
})
const delta = fc.oneof(
  fc.record({ type: fc.constant('text-delta' as const), choice: fc.constant(0), text: piece }),
  fc.record({
    type: fc.constant('text-delta' as const),
    choice: fc.constant(0),
    text: piece,
    logprobs: fc.array(logprob, { maxLength: 2 }),
  }),
  fc.record({ type: fc.constant('reasoning-delta' as const), choice: fc.constant(0), text: piece }),
  fc.record({ type: fc.constant('refusal-delta' as const), choice: fc.constant(0), text: piece }),
)

/** One call: its id and name, and its arguments in pieces. */
const call = fc.record({
  id: fc.constantFrom('call_1', 'call_2', 'x'.repeat(65), ''),
  name: fc.constantFrom('get_weather', 'patch', 'shop__find', 'shop__note'),
  arguments: fc.oneof(
    fc.array(piece, { maxLength: 5 }),
    fc
      .tuple(fc.string(), fc.array(fc.nat(40), { maxLength: 6 }))
      .map(([input, cuts]) => cut(JSON.stringify({ input }), cuts)),
  ),
})

/** An answer: deltas, and calls interleaved with them in any order that keeps each call's own. */
const answer = fc
  .record({
    deltas: fc.array(delta, { maxLength: 10 }),
    calls: fc.array(call, { maxLength: 4 }),
    order: fc.array(fc.nat(1000), { minLength: 60, maxLength: 60 }),
    last: fc.constantFrom<FinishReason>('stop', 'tool_calls', 'length', 'content_filter'),
    sizes: fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
  })
  .map(({ deltas, calls, order, last, sizes }) => ({
    events: [
      ...interleave([deltas, ...calls.map(callEvents)], order),
      { type: 'finish', choice: 0, reason: last } as const,
    ],
    calls,
    sizes,
  }))

/** How a turn ends after some of its events. */
const course = fc.record({
  answer,
  ending: fc.constantFrom('end', 'fail', 'cancel'),
  after: fc.double({ min: 0, max: 1, noNaN: true }),
  reasoning: fc.record({ summary: fc.boolean(), raw: fc.boolean(), sealed: fc.boolean() }),
  socket: fc.boolean(),
})

law('whatever a model sends and wherever it ends, SDKs accept the stream of events', (seed) => {
  fc.assert(
    fc.property(course, ({ answer, ending, after, reasoning, socket }) => {
      const events = ending === 'end' ? answer.events : answer.events.slice(0, Math.floor(after * answer.events.length))
      const { emitted, response } = write(events, { ending, reasoning, socket, sizes: answer.sizes })
      const built = acceptStream(emitted, { socket })
      assert.deepEqual(built, response, 'the deltas build the plain answer')
    }),
    { seed, numRuns: RUNS },
  )
})

law('an answer has all text of the model, in the order of its items', (seed) => {
  fc.assert(
    fc.property(answer, ({ events, calls, sizes }) => {
      const { response } = write(events, {
        ending: 'end',
        reasoning: { summary: true, raw: false, sealed: false },
        sizes,
      })
      const of = (type: ChatEvent['type']) =>
        events.map((event) => (event.type === type && 'text' in event ? event.text : '')).join('')
      const parts = response.output.flatMap((item) => (item.type === 'message' ? item.content : []))
      const texts = parts.map((part) => (part.type === 'output_text' ? part.text : '')).join('')
      const refusals = parts.map((part) => (part.type === 'refusal' ? part.refusal : '')).join('')
      const summaries = response.output.flatMap((item) =>
        item.type === 'reasoning' ? item.summary.map(({ text }) => text) : [],
      )
      assert.equal(plain(texts), plain(of('text-delta')))
      assert.equal(plain(refusals), plain(of('refusal-delta')))
      assert.equal(plain(summaries.join('')), plain(of('reasoning-delta')))
      const made = response.output.filter((item) => item.type === 'function_call' || item.type === 'custom_tool_call')
      assert.equal(made.length, calls.length)
      for (const item of made) {
        if (item.type !== 'function_call') continue
        const text = item.arguments
        assert.ok(
          calls.some((each) => plain(each.arguments.join('')).startsWith(plain(text))),
          `no call has ${text}`,
        )
      }
    }),
    { seed, numRuns: RUNS },
  )
})

law('the input of a custom tool is what the model put into its arguments, however they are split', (seed) => {
  const input = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('\\', '"', '😀', '\n', 'u', 'd', '8', '/') }),
  )
  fc.assert(
    fc.property(input, fc.boolean(), fc.array(fc.nat(200), { maxLength: 12 }), (text, escaped, cuts) => {
      const json = JSON.stringify({ input: text })
      const ascii = json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      const pieces = cut(escaped ? ascii : json, cuts)
      const { response } = write([...callEvents({ id: 'c', name: 'patch', arguments: pieces }, 0), FINISH], DEFAULTS)
      const [item] = response.output
      assert.ok(item?.type === 'custom_tool_call')
      assert.equal(item.input, text.replaceAll('\0', '\ufffd'))
    }),
    { seed, numRuns: RUNS },
  )
})

const FINISH: ChatEvent = { type: 'finish', choice: 0, reason: 'stop' }
const DEFAULTS: Course = { ending: 'end', reasoning: { summary: false, raw: false, sealed: false }, sizes: [3] }

type Course = {
  ending: string
  reasoning: { summary: boolean; raw: boolean; sealed: boolean }
  socket?: boolean
  sizes: number[]
}

function write(events: readonly ChatEvent[], { ending, reasoning, socket = false, sizes }: Course) {
  const response = emptyResponse()
  const seal = reasoning.sealed ? (text: string) => `sealed ${text.length}` : null
  const writer = responseWriter(response, { tools: TOOLS, clock: systemClock, reasoning_view: { ...reasoning, seal } })
  const storable = storableEvents()
  const emitted: ResponseEvent[] = [...writer.snapshot('response.created'), ...writer.snapshot('response.in_progress')]
  for (let at = 0, i = 0; at < events.length; i++) {
    const size = sizes[i % sizes.length]!
    emitted.push(...writer.write(storable(events.slice(at, at + size))))
    at += size
  }
  const usage = { input: 3, cached_input: 1, output: 5, reasoning: 2 }
  if (ending === 'fail') {
    emitted.push(...writer.fail(new ApiError('upstream_error', 'It failed.'), { error_event: !socket }))
  } else {
    if (ending === 'cancel') emitted.push(...writer.cancel(null))
    else writer.settle(usage)
    emitted.push(...writer.end())
  }
  return { emitted: emitted.map(readEvent), response: JSON.parse(JSON.stringify(response)) as ResponseObject }
}

function readEvent({ type, sequence_number, data }: ResponseEvent): Wire {
  assert.ok(!/[\r\n]/.test(data), 'on one line')
  const event = JSON.parse(data) as Wire
  assert.deepEqual([event.type, event.sequence_number], [type, sequence_number])
  return event
}

function callEvents(made: { id: string; name: string; arguments: readonly string[] }, call: number): ChatEvent[] {
  const [first = '', ...rest] = made.arguments
  const common = { type: 'tool-call-delta' as const, choice: 0, call }
  return [
    { ...common, id: made.id, name: made.name, arguments: first },
    ...rest.map((text) => ({ ...common, arguments: text })),
  ]
}

/** One sequence of all, each in its own order. */
function interleave(sequences: ChatEvent[][], order: readonly number[]): ChatEvent[] {
  const left = sequences.map((each) => [...each])
  const mixed: ChatEvent[] = []
  for (let i = 0; left.some(({ length }) => length > 0); i++) {
    const open = left.filter(({ length }) => length > 0)
    mixed.push(open[order[i % order.length]! % open.length]!.shift()!)
  }
  return mixed
}

function cut(text: string, cuts: readonly number[]): string[] {
  const at = [...new Set(cuts.map((each) => each % (text.length + 1)))].sort((a, b) => a - b)
  return [0, ...at].map((from, i) => text.slice(from, at[i] ?? text.length))
}

/** Without surrogates, which may be split in one text and not in the other. */
function plain(text: string): string {
  return text.replace(/[\ud800-\udfff\ufffd]/g, '')
}

function emptyResponse(): ResponseObject {
  return {
    id: `resp_${'a'.repeat(48)}`,
    object: 'response',
    created_at: 1,
    completed_at: null,
    status: 'in_progress',
    incomplete_details: null,
    error: null,
    model: 'm',
    previous_response_id: null,
    instructions: null,
    output: [],
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    truncation: 'disabled',
    text: { format: { type: 'text' } },
    reasoning: { effort: null, summary: null },
    temperature: 1,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    max_output_tokens: null,
    max_tool_calls: null,
    store: true,
    background: false,
    service_tier: 'default',
    metadata: {},
    safety_identifier: null,
    prompt_cache_key: null,
    user: null,
    usage: null,
  }
}
