import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { law } from '../../../../../test/support/law.ts'
import { asRecord } from '../../../../platform/json/record.ts'
import { EngineError } from '../../../engine-error.ts'
import type { ChatEvent } from '../../contract.ts'
import { type BodyEnd, completionReader } from './completion.ts'
import { streamReader } from './stream.ts'

test('finish reasons: the known ones stay, any spelling of a limit or a filter is read, any other is stop', () => {
  const reasons: Array<[unknown, string]> = [
    ...['stop', 'length', 'content_filter'].map((reason): [string, string] => [reason, reason]),
    ...[
      ['tool_calls', 'stop'],
      ['function_call', 'stop'],
      ['eos_token', 'stop'],
      ['Max_Tokens', 'length'],
      ['model_context_window_exceeded', 'length'],
      ['SAFETY', 'content_filter'],
      ['refusal', 'content_filter'],
    ].map(([a, b]): [string, string] => [a!, b!]),
  ]
  for (const [reason, expected] of reasons) {
    assert.equal(finishOf(delta({ content: 'a' }, reason)), expected)
    assert.equal(finishOf(completion({ content: 'a' }, reason)), expected)
  }
  for (const reason of [null, undefined, 7, '']) assert.equal(finishOf(completion({ content: 'a' }, reason)), 'stop')
  const called = { tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }] }
  for (const reason of ['stop', 'eos', 'tool_calls', 'function_call', 'tool_use'])
    assert.equal(finishOf(delta(called, reason)), 'tool_calls')
  assert.equal(finishOf(delta(called, 'length')), 'length')
  assert.equal(finishOf(completion(called, null)), 'tool_calls')
  for (const reason of ['abort', 'error', 'cancelled'])
    assert.throws(() => finishOf(delta({ content: 'a' }, reason)), isFailed)
})

test('a stream whose choice never finishes has failed, unless its usage shows that it is complete', () => {
  const used = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } }
  const part = delta({ content: 'a' })
  assert.throws(() => eventsOf([part]), isFailed)
  assert.throws(() => eventsOf([delta({ content: 'a' }, '')]), isFailed)
  assert.throws(() => eventsOf([delta({ content: 'a' }, 'stop', 0)], { choices: 2 }), isFailed)
  assert.throws(() => eventsOf([]), isFailed)
  assert.throws(() => eventsOf([{ choices: [] }, { type: 'ping' }]), isFailed)
  assert.throws(() => eventsOf([used]), isFailed)
  assert.throws(() => eventsOf([used, part], {}, 'body'), isFailed, 'the usage was not the last')
  for (const [frames, by] of [
    [[part, used], 'mark'],
    [[used, part], 'mark'],
    [[part, used], 'body'],
  ] as const)
    assert.deepEqual(eventsOf(frames, {}, by).at(-2), { type: 'finish', choice: 0, reason: 'stop' })
})

test('a server that sends a reason with every chunk is believed no more: it is incomplete until it says more', () => {
  const reader = completionReader({ choices: 1, logprobs: false })
  const read = (object: object) => reader.read(object, [])
  const missing: string[] = []
  for (const object of [
    delta({ role: 'assistant' }, 'stop'),
    ...['a', 'b', 'c'].map((content) => delta({ content }, 'stop')),
    { ...delta({ content: 'd' }, 'stop'), usage: { prompt_tokens: 1, completion_tokens: 4 } },
    { ...delta({ content: 'e' }, 'stop'), usage: { prompt_tokens: 1, completion_tokens: 5 } },
  ]) {
    read(object)
    missing.push(reader.missing('body'))
  }
  assert.deepEqual(missing, ['answer', 'usage', 'answer', 'answer', 'nothing', 'answer'])
})

test('an answer is complete once its usage has followed the reason, without text too, and of fewer choices', () => {
  const usage = { prompt_tokens: 9, completion_tokens: 1 }
  const head = delta({ role: 'assistant', content: '' })
  const used = { choices: [], usage }
  for (const [objects, expected, choices] of [
    [[head, STOP], 'answer', 1],
    [[head, STOP, used], 'nothing', 1],
    [[head, STOP, used], 'nothing', 2],
    [[head, STOP, delta({}, null, 1), used], 'answer', 2],
    [[head, { ...STOP, usage }], 'nothing', 1],
    [[head, { ...STOP, usage }], 'answer', 2],
    [[head, STOP, { choices: [], usage: { ...usage, completion_tokens: 0 } }], 'usage', 1],
    [[{ ...STOP, usage: { ...usage, completion_tokens: 0 } }], 'answer', 1],
  ] as const) {
    const reader = completionReader({ choices, logprobs: false })
    for (const object of objects) reader.read(object, [])
    assert.equal(reader.missing('body'), expected)
  }
})

test('reasoning is read from either name, once', () => {
  const emitted = eventsOf([
    delta({ reasoning_content: 'a' }),
    delta({ reasoning: 'b' }),
    delta({ reasoning_content: 'c', reasoning: 'c' }),
    STOP,
  ])
  assert.deepEqual(textsOf(emitted, 'reasoning-delta'), ['a', 'b', 'c'])
})

test('content as parts, refusals and empty pieces', () => {
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
    { type: 'text', text: 'a' },
    { type: 'refusal', refusal: 'no' },
    null,
  ]
  const emitted = eventsOf([
    delta({ content }),
    delta({ content: '' }),
    delta({ refusal: 'never' }),
    delta({ content: null }),
    STOP,
  ])
  assert.deepEqual(
    emitted.map((event) => ('text' in event ? [event.type, event.text] : event.type)),
    [
      ['reasoning-delta', 'hm'],
      ['text-delta', 'a'],
      ['refusal-delta', 'no'],
      ['refusal-delta', 'never'],
      'finish',
      'end',
    ],
  )
})

test('a choice goes on after its reason and finishes once; nothing is emitted for choices nobody asked for', () => {
  const emitted = eventsOf([
    delta({ content: 'a' }, 'stop'),
    delta({ content: 'late' }, 'length'),
    delta({ content: 'x' }, 'stop', 1),
    delta({ content: 'y' }, 'stop', -1),
  ])
  assert.deepEqual(textsOf(emitted, 'text-delta'), ['a', 'late'])
  assert.deepEqual(emitted.slice(-2), [
    { type: 'finish', choice: 0, reason: 'length' },
    { type: 'end', usage: null },
  ])
})

test('usage: the last one counts, wherever it comes; missing is null, as are zeros beside text; details are read', () => {
  const usage = (prompt_tokens: unknown, completion_tokens: unknown, more = {}) => ({
    choices: [],
    usage: { prompt_tokens, completion_tokens, ...more },
  })
  const usageOf = (...chunks: object[]) => eventsOf([delta({ content: 'a' }, 'stop'), ...chunks]).at(-1)
  const end = (input: number, cached_input: number, output: number, reasoning: number) => ({
    type: 'end',
    usage: { input, cached_input, output, reasoning },
  })
  assert.deepEqual(usageOf(), { type: 'end', usage: null })
  assert.deepEqual(usageOf({ choices: [], usage: null }), { type: 'end', usage: null })
  assert.deepEqual(usageOf(usage(1, 2), usage(3, 4), { choices: [], usage: null }), end(3, 0, 4, 0))
  for (const [input, output] of [
    [0, 0],
    [9, 0],
    [0, 9],
  ])
    assert.deepEqual(usageOf(usage(input, output)), { type: 'end', usage: null })
  assert.deepEqual(usageOf(usage(3, 4), usage(0, 0)), end(3, 0, 4, 0))
  assert.deepEqual(eventsOf([delta({}, 'stop'), usage(0, 0)]).at(-1), end(0, 0, 0, 0), 'nothing was produced')
  const nothing = { prompt_tokens_details: null, completion_tokens_details: {} }
  assert.deepEqual(usageOf(usage(5, 4, { ...nothing, total_tokens: 12 })), {
    type: 'end',
    usage: { input: 5, cached_input: 0, output: 4, reasoning: 0, unlisted: 3 },
  })
  assert.deepEqual(usageOf(usage(5, 4, { total_tokens: 12, reasoning_tokens: 3 })), end(5, 0, 7, 3))
  assert.deepEqual(usageOf(usage(5, 4, { total_tokens: 12, cached_tokens: 3 })), end(8, 3, 4, 0))
  assert.deepEqual(usageOf(usage(5, 4, { total_tokens: 7 })), end(5, 0, 4, 0), 'a total below the sum')
  assert.deepEqual(usageOf({ choices: [], usage: { prompt_tokens: 5, total_tokens: 7 } }), end(5, 0, 2, 0))
  const both = { total_tokens: 112, reasoning_tokens: 3, cached_tokens: 100 }
  assert.deepEqual(usageOf(usage(5, 4, both)), end(105, 100, 7, 3))
  const anthropic = { input_tokens: 5, cache_read_input_tokens: 90, cache_creation_input_tokens: 4, output_tokens: 7 }
  assert.deepEqual(usageOf({ choices: [], usage: anthropic }), end(99, 90, 7, 0))
  const details = { prompt_tokens_details: { cached_tokens: 2 }, completion_tokens_details: { reasoning_tokens: 3 } }
  assert.deepEqual(usageOf(usage(5, 4, details)), end(5, 2, 4, 3))
  assert.deepEqual(usageOf(usage(1, 1, details)), end(3, 2, 4, 3), 'parts that exceed their whole are beside it')
  assert.deepEqual(usageOf(usage(5, 4, { prompt_cache_hit_tokens: 1, reasoning_tokens: 2 })), end(5, 1, 4, 2))
  for (const wrong of [-1, 1.5, '7', null, Number.NaN, 2 ** 60])
    assert.deepEqual(usageOf(usage(wrong, 2)), { type: 'end', usage: null })
  const onChunk = { ...delta({ content: 'b' }, 'stop'), usage: { prompt_tokens: 1, completion_tokens: 2 } }
  assert.deepEqual(eventsOf([onChunk]).at(-1), end(1, 0, 2, 0))
})

test('logprobs come with their text when asked for, and only then', () => {
  const entry = {
    token: 'a',
    logprob: -0.1,
    bytes: [97],
    top_logprobs: [{ token: 'b', logprob: null, bytes: 'no', evil: 1 }],
    evil: 1,
  }
  const chunk = {
    choices: [{ index: 0, delta: { content: 'a' }, logprobs: { content: [entry, 'junk'] }, finish_reason: 'stop' }],
  }
  const top_logprobs = [{ token: 'b', logprob: -9999, bytes: null }]
  const token = { token: 'a', logprob: -0.1, bytes: [97], top_logprobs }
  assert.deepEqual(eventsOf([chunk], { logprobs: true })[0], {
    type: 'text-delta',
    choice: 0,
    text: 'a',
    logprobs: [token],
  })
  assert.deepEqual(eventsOf([chunk])[0], { type: 'text-delta', choice: 0, text: 'a' })
})

law('however a stream is split into reads, the events are the same', (seed) => {
  const piece = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 12 }).map((content) => delta({ content })),
    fc.string({ unit: 'binary', maxLength: 6 }).map((reasoning) => delta({ reasoning })),
    fc
      .tuple(fc.nat(2), fc.string({ maxLength: 5 }))
      .map(([index, text]) =>
        delta({ tool_calls: [{ index, id: `c${index}`, function: { name: `f${index}`, arguments: text } }] }),
      ),
    fc.constant({ error: { code: 503 } }),
  )
  const stream = fc.tuple(fc.array(piece, { maxLength: 12 }), fc.constantFrom('\n', '\r\n'), fc.boolean())
  fc.assert(
    fc.property(stream, fc.array(fc.nat(2000), { maxLength: 10 }), ([pieces, eol, stops], cuts) => {
      const frames = [...pieces, ...(stops ? [STOP] : [])].map((chunk) => `data: ${JSON.stringify(chunk)}${eol}${eol}`)
      const bytes = Buffer.from(`${frames.join('')}data: [DONE]${eol}${eol}`)
      const emitted = streamed([bytes])
      assert.deepEqual(streamed(splitAt(bytes, cuts)), emitted)
      assert.deepEqual(streamed(Array.from(bytes, (byte) => Buffer.of(byte))), emitted)
    }),
    { seed, numRuns: 300 },
  )
})

const STOP = delta({}, 'stop')

function delta(message: object, finish_reason: unknown = null, index = 0): object {
  return { choices: [{ index, delta: message, finish_reason }] }
}

function completion(message: object, finish_reason: unknown): object {
  return { choices: [{ index: 0, message, finish_reason }] }
}

function eventsOf(
  objects: readonly object[],
  asked: { choices?: number; logprobs?: boolean } = {},
  by?: BodyEnd,
): ChatEvent[] {
  const reader = completionReader({ choices: 1, logprobs: false, ...asked })
  const events: ChatEvent[] = []
  for (const object of objects) reader.read(object, events)
  const isWhole = objects.some(
    (object) => 'message' in (asRecord((object as { choices?: unknown[] }).choices?.[0]) ?? {}),
  )
  reader.end(events, by ?? (isWhole ? 'json' : 'mark'))
  return events
}

function finishOf(object: object): string | undefined {
  const finish = eventsOf([object]).find((event) => event.type === 'finish')
  return finish?.reason
}

function textsOf(events: readonly ChatEvent[], type: ChatEvent['type']): string[] {
  return events.flatMap((event) => (event.type === type && 'text' in event ? [event.text] : []))
}

/** What was emitted, and the fault it ended with. Ids of ours, for those that repeat, are left out. */
function streamed(reads: readonly Buffer[]): { events: object[]; fault: string | null } {
  const events: ChatEvent[] = []
  const reader = streamReader(completionReader({ choices: 1, logprobs: false }))
  try {
    for (const read of reads) reader.feed(read, events)
    if (!reader.done()) reader.end(events)
    return { events: events.map(withoutOwnId), fault: null }
  } catch (error) {
    return { events: events.map(withoutOwnId), fault: error instanceof EngineError ? error.kind : 'unreadable' }
  }
}

const withoutOwnId = (event: ChatEvent) =>
  'id' in event && /^call_[0-9a-f]{24}$/.test(event.id ?? '') ? { ...event, id: 'ours' } : event

function splitAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end))
}

function isFailed(error: unknown): boolean {
  return error instanceof EngineError && error.kind === 'failed'
}
