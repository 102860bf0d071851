import type { FinishReason } from '../../../server/engines/chat/contract.ts'
import type { EngineErrorKind } from '../../../server/engines/engine-error.ts'
import { chunk, completion, type UpstreamReply } from './chat-upstream.ts'

/** Tokens of an answer as they are billed. */
type Tokens = { input: number; output: number; cached?: number; reasoning?: number }

/**
 * A reply that model servers of the field give, and what is made of it. `finish` is `stop`, or `tool_calls` where there are calls, unless
 * given. `usage` is what `USAGE` says unless given; null: none that can be used, so the service counts. `fails`: how the answer ends
 * instead, after `text`. `package`: why a package of the AI SDK, which reads the bytes itself, makes something else of it.
 */
export type FieldReply = {
  reply: UpstreamReply
  text?: string
  reasoning?: string
  calls?: ReadonlyArray<readonly [name: string, text: string]>
  extra_content?: object
  finish?: FinishReason
  usage?: Tokens | null
  fails?: EngineErrorKind
  package?: string
}

const USAGE = { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 }
export const BILLED: Tokens = { input: 10, output: 50 }

const last = (usage: unknown = USAGE, more: object = {}) => ({ ...chunk({}), choices: [], usage, ...more })
const text = (content: string, finish_reason: string | null = null) => chunk({ content }, { finish_reason })
const end = (finish_reason: string) => chunk({}, { finish_reason })
const call = (index: number, id: string, name: string, piece: string, more: object = {}) => ({
  ...{ index, id, type: 'function', function: { name, arguments: piece } },
  ...more,
})
const calls = (list: readonly object[], finish_reason: string | null = null) =>
  chunk({ tool_calls: list }, { finish_reason })
const stream = (frames: ReadonlyArray<object | string>, more: object = {}): UpstreamReply => ({
  kind: 'stream',
  frames,
  ...more,
})
const whole = (message: object, finish_reason = 'stop') => ({
  ...completion(message, { finish_reason, usage: USAGE }),
})
const line = (object: object) => `data: ${JSON.stringify(object)}\n`
const LONG = 'x'.repeat(1_200_000)
const PAGE = 'word '.repeat(400)
const READS_ITSELF = 'the package reads the bytes by its own rules'

const FINISH_REASONS: Readonly<Record<string, FieldReply>> = {
  'an empty reason on every chunk': {
    reply: stream([text('Hel', ''), text('lo world', ''), end('stop'), last()]),
    text: 'Hello world',
    package: READS_ITSELF,
  },
  'stop on every chunk': {
    reply: stream([
      chunk({ role: 'assistant', content: '' }, { finish_reason: 'stop' }),
      text('Hel', 'stop'),
      text('lo', 'stop'),
      last(),
    ]),
    text: 'Hello',
  },
  'stop and then more text': {
    reply: stream([text('The answer', 'stop'), text(' is 436', 'stop'), last()]),
    text: 'The answer is 436',
  },
  'stop and then a call': {
    reply: stream([text('Let me look.', 'stop'), calls([call(0, 'a', 'look', '{"at":1}')]), last()]),
    ...{ text: 'Let me look.', calls: [['look', '{"at":1}']] },
  },
  'stop and then length': {
    reply: stream([text('Half', 'stop'), end('length'), last()]),
    text: 'Half',
    finish: 'length',
  },
  'a second call after tool_calls': {
    reply: stream([
      calls([call(0, 'a', 'look', '{}')], 'tool_calls'),
      calls([call(1, 'b', 'go', '{}')], 'tool_calls'),
      last(),
    ]),
    calls: [
      ['look', '{}'],
      ['go', '{}'],
    ],
  },
  'tool_calls without a call': {
    reply: stream([text('None.'), end('tool_calls'), last()]),
    text: 'None.',
    finish: 'stop',
  },
  ...named(['max_tokens', 'MAX_TOKENS', 'maxTokens', 'max_output_tokens', 'model_length', 'Length'], {
    finish: 'length',
  }),
  ...named(['SAFETY', 'content_filtered', 'sensitive', 'RECITATION', 'PROHIBITED_CONTENT', 'guardrail_intervened'], {
    finish: 'content_filter',
  }),
  ...named(['eos', 'end_turn', 'COMPLETE', 'who knows'], { finish: 'stop' }),
  ...named(['abort', 'error', 'cancelled', 'network_error', 'MALFORMED_FUNCTION_CALL'], { fails: 'failed' }),
}

function named(reasons: readonly string[], what: Partial<FieldReply>): Record<string, FieldReply> {
  return Object.fromEntries(
    reasons.map((reason) => [
      `the reason ${reason}`,
      { reply: stream([text('Half an ans'), end(reason), last()]), text: 'Half an ans', ...what },
    ]),
  )
}

const NO_REASON = 'the package fails without a reason'
const ENDS: Readonly<Record<string, FieldReply>> = {
  'text, usage and [DONE] without a reason': {
    reply: stream([text('All of it'), last()]),
    ...{ text: 'All of it', package: NO_REASON },
  },
  'text and usage without a reason and [DONE]': {
    reply: stream([text('All of it'), last()], { done: false }),
    ...{ text: 'All of it', package: NO_REASON },
  },
  'a call, usage and [DONE] without a reason': {
    reply: stream([calls([call(0, 'a', 'look', '{}')]), last()]),
    ...{ calls: [['look', '{}']], package: NO_REASON },
  },
  'a reason before any text, and a lost connection': {
    reply: stream([chunk({ role: 'assistant', content: '' }, { finish_reason: 'stop' })], {
      ...{ done: false, finally: 'reset' },
    }),
    fails: 'failed',
  },
  'an error event without words after the reason': {
    reply: stream([text('Hi', 'stop'), 'event: error\ndata: null\n\n']),
    ...{ fails: 'failed', package: READS_ITSELF },
  },
  'text with empty reasons that breaks off': {
    reply: stream([text('Half an ans', ''), text('wer', '')], { done: false }),
    fails: 'failed',
  },
  'empty reasons alone, usage and [DONE]': {
    reply: stream([text('All of', ''), text(' it', ''), last()]),
    text: 'All of it',
  },
  'a reason and usage on a connection that stays open': {
    reply: stream([text('Hi', 'stop'), last()], { done: false, finally: 'stall' }),
    ...{ text: 'Hi', package: 'the package waits for the end of the body' },
  },
  'no text, a reason and usage on a connection that stays open': {
    reply: stream([chunk({ role: 'assistant', content: '' }), end('stop'), last()], { done: false, finally: 'stall' }),
    package: 'the package waits for the end of the body',
  },
}

const USAGES: Readonly<Record<string, FieldReply>> = {
  'zeros beside a page of text': {
    reply: stream([text(PAGE), end('stop'), last({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })]),
    ...{ text: PAGE, usage: null },
  },
  'no output beside a page of text': {
    reply: stream([text(PAGE), end('stop'), last({ prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 })]),
    ...{ text: PAGE, usage: null },
  },
  'a good usage and then zeros': {
    reply: stream([text('Hi', 'stop'), last(), last({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })]),
    ...{ text: 'Hi', package: 'the package takes the last usage' },
  },
  'reasoning billed beside the completion, with its count': {
    reply: stream([
      text('Hi', 'stop'),
      last({
        ...{ prompt_tokens: 32, completion_tokens: 9, total_tokens: 142 },
        completion_tokens_details: { reasoning_tokens: 101 },
      }),
    ]),
    ...{ text: 'Hi', usage: { input: 32, output: 110, reasoning: 101 }, package: 'the package drops the total' },
  },
  'reasoning billed beside the completion, in the total alone': {
    reply: stream([
      chunk({ reasoning_content: 'Hm.' }),
      text('Hi', 'stop'),
      last({ prompt_tokens: 32, completion_tokens: 9, total_tokens: 142 }),
    ]),
    ...{ text: 'Hi', reasoning: 'Hm.', usage: { input: 32, output: 110, reasoning: 101 } },
    package: 'the package drops the total',
  },
  'the cache billed beside the prompt': {
    reply: stream([
      text('Hi', 'stop'),
      last({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 115, cache_read_input_tokens: 100 }),
    ]),
    ...{ text: 'Hi', usage: { input: 110, output: 5, cached: 100 }, package: 'the package drops the total' },
  },
  'usage in x_groq': {
    reply: stream([text('Hi'), { ...end('stop'), x_groq: { id: 'req_1', usage: USAGE } }]),
    ...{ text: 'Hi', package: 'the package of Groq reads it' },
  },
  'usage in the choice': {
    reply: stream([
      text('Hi'),
      { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: USAGE }] },
    ]),
    ...{ text: 'Hi', package: 'the package of Moonshot reads it' },
  },
  ...cached('usage.cached_tokens', { cached_tokens: 4 }),
  ...cached('prompt_tokens_details', { prompt_tokens_details: { cached_tokens: 4 } }),
  ...cached('prompt_cache_hit_tokens beside a zero', {
    ...{ prompt_tokens_details: { cached_tokens: 0 }, prompt_cache_hit_tokens: 4 },
  }),
  'input_tokens and output_tokens': {
    reply: stream([
      text('Hi', 'stop'),
      last({
        ...{ input_tokens: 10, output_tokens: 50, total_tokens: 60 },
        ...{ input_tokens_details: { cached_tokens: 4 }, output_tokens_details: { reasoning_tokens: 7 } },
      }),
    ]),
    ...{ text: 'Hi', usage: { ...BILLED, cached: 4, reasoning: 7 }, package: READS_ITSELF },
  },
}

function cached(name: string, more: object): Record<string, FieldReply> {
  const reply = stream([text('Hi', 'stop'), last({ ...USAGE, ...more })])
  return { [`cached tokens in ${name}`]: { reply, text: 'Hi', usage: { ...BILLED, cached: 4 }, package: READS_ITSELF } }
}

const SIGNED = { google: { thought_signature: 'c2lnbmF0dXJl' } }
const SHAPES: Readonly<Record<string, FieldReply>> = {
  'the whole message as the last event': {
    reply: stream([text('Hel'), text('lo'), whole({ content: 'Hello' })]),
    ...{ text: 'Hello', package: READS_ITSELF },
  },
  'the whole message with its call as the last event': {
    reply: stream([
      calls([call(0, 'a', 'look', '{"at"')]),
      chunk({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
      whole({ content: null, tool_calls: [call(0, 'a', 'look', '{"at":1}')] }, 'tool_calls'),
    ]),
    ...{ calls: [['look', '{"at":1}']], package: READS_ITSELF },
  },
  'message instead of delta in each chunk': {
    reply: stream([messages({ content: 'Hel' }), messages({ content: 'lo' }), messages({}, 'stop'), last()]),
    ...{ text: 'Hello', package: READS_ITSELF },
  },
  'the message so far in each chunk': {
    reply: stream([
      messages({ content: 'Hel' }),
      messages({ content: 'Hello' }),
      messages({ content: 'Hello' }, 'stop'),
      last(),
    ]),
    ...{ text: 'Hello', package: READS_ITSELF },
  },
  'the calls so far in each chunk': {
    reply: stream([
      messages({ reasoning: 'Hm' }),
      messages({ reasoning: 'Hm.', tool_calls: [call(0, 'a', 'look', '{"at"')] }),
      messages({ tool_calls: [call(0, 'a', 'look', '{"at":1}')] }),
      messages({ tool_calls: [call(0, 'a', 'look', '{"at":1}'), call(1, 'b', 'look', '{"at":2}')] }, 'tool_calls'),
      last(),
    ]),
    reasoning: 'Hm.',
    calls: [
      ['look', '{"at":1}'],
      ['look', '{"at":2}'],
    ],
    package: READS_ITSELF,
  },
  'the same text again with a call': {
    reply: stream([
      messages({ content: 'Look.' }),
      messages({ content: 'Look.', tool_calls: [call(0, 'a', 'look', '{"at":1}')] }),
      messages({ content: 'Look.', tool_calls: [call(0, 'a', 'look', '{"at":1}')] }, 'tool_calls'),
      last(),
    ]),
    ...{ text: 'Look.', calls: [['look', '{"at":1}']], package: READS_ITSELF },
  },
  'a signature in the whole message as the last event': {
    reply: stream([
      calls([call(0, 'a', 'look', '{"at":1}')]),
      whole({ content: null, tool_calls: [call(0, 'a', 'look', '{"at":1}', { extra_content: SIGNED })] }, 'tool_calls'),
    ]),
    ...{ calls: [['look', '{"at":1}']], extra_content: SIGNED, package: READS_ITSELF },
  },
  'a new id and the name on each delta of one index': {
    reply: stream([
      calls([call(0, 'a', 'look', '')]),
      calls([call(0, 'b', 'look', '{"at"')]),
      calls([call(0, 'c', 'look', ':1}')]),
      calls([call(1, 'd', 'look', '{"at":2}')]),
      ...[end('tool_calls'), last()],
    ]),
    calls: [
      ['look', '{"at":1}'],
      ['look', '{"at":2}'],
    ],
    package: READS_ITSELF,
  },
  'complete calls under one index': {
    reply: stream([
      calls([call(0, 'a', 'look', '{"at":1}')]),
      calls([call(0, 'b', 'look', '{"at":2}')]),
      end('stop'),
      last(),
    ]),
    calls: [
      ['look', '{"at":1}'],
      ['look', '{"at":2}'],
    ],
    package: READS_ITSELF,
  },
  'a signature with a call': {
    reply: stream([calls([call(0, 'a', 'look', '{"at":1}', { extra_content: SIGNED })]), end('tool_calls'), last()]),
    ...{ calls: [['look', '{"at":1}']], extra_content: SIGNED },
  },
  'a call without arguments': {
    reply: stream([calls([call(0, 'c1', 'now', '')]), end('tool_calls'), last()]),
    calls: [['now', '{}']],
  },
  'reasoning_details alone': {
    reply: stream([
      chunk({ reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] }),
      chunk({
        reasoning_details: [
          { type: 'reasoning.summary', summary: '.' },
          { type: 'reasoning.encrypted', data: 'x' },
        ],
      }),
      ...[text('Hi', 'stop'), last()],
    ]),
    ...{ text: 'Hi', reasoning: 'Hm.', package: READS_ITSELF },
  },
  'thinking alone': {
    reply: stream([chunk({ thinking: 'Hm.' }), text('Hi', 'stop'), last()]),
    ...{ text: 'Hi', reasoning: 'Hm.', package: READS_ITSELF },
  },
  'an event of over 1 MiB': { reply: stream([text(LONG, 'stop'), last()]), text: LONG },
  'one line break between events': {
    reply: stream([line(text('Hel')), line(text('lo', 'stop')), line(last()), 'data: [DONE]\n\n'], { done: false }),
    ...{ text: 'Hello', package: READS_ITSELF },
  },
  'a line of JSON for each chunk': {
    reply: {
      ...{ kind: 'json', type: 'application/x-ndjson' },
      body: [text('Hel'), text('lo', 'stop'), last()].map((each) => `${JSON.stringify(each)}\n`).join(''),
    },
    ...{ text: 'Hello', package: READS_ITSELF },
  },
  'a completion after comments': {
    reply: { kind: 'json', body: `: wait\n\n: wait\n\n${JSON.stringify(whole({ content: 'Hi' }))}` },
    ...{ text: 'Hi', package: READS_ITSELF },
  },
  'a ping with text': {
    reply: stream([
      'event: ping\ndata: still here\n\n',
      text('Hi'),
      'event: ping\ndata: {"time":1}\n\n',
      end('stop'),
      last(),
    ]),
    ...{ text: 'Hi', package: READS_ITSELF },
  },
  'data: null': {
    reply: stream([text('Hi'), 'data: null\n\n', end('stop'), last()]),
    text: 'Hi',
    package: READS_ITSELF,
  },
  'status 201': { reply: stream([text('Hi', 'stop'), last()], { status: 201 }), text: 'Hi' },
  'events in gzip': { reply: stream([text('Hi', 'stop'), last()], { gzip: true, piece_bytes: 20 }), text: 'Hi' },
  'a completion in gzip': {
    reply: { kind: 'json', body: whole({ content: 'Hi' }), gzip: true },
    text: 'Hi',
    package: READS_ITSELF,
  },
  'events under application/json': {
    reply: stream([text('Hel'), text('lo', 'stop'), last()], { type: 'application/json' }),
    text: 'Hello',
  },
  ...Object.fromEntries(
    ['text/plain', 'text/html', null, 'text/event-stream'].map((type): [string, FieldReply] => [
      `a completion under ${type ?? 'no media type'}`,
      { reply: { kind: 'json', type, body: whole({ content: 'Hi' }) }, text: 'Hi', package: READS_ITSELF },
    ]),
  ),
  'an error under text/event-stream': {
    reply: { kind: 'json', type: 'text/event-stream', body: { error: { code: 503, message: 'x' } } },
    ...{ fails: 'overloaded', package: READS_ITSELF },
  },
  "Gemini's list of errors": {
    reply: { kind: 'json', body: [{ error: { code: 503, message: 'x', status: 'UNAVAILABLE' } }] },
    ...{ fails: 'overloaded', package: READS_ITSELF },
  },
}

function messages(message: object, finish_reason: string | null = null): object {
  return { ...chunk({}), choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }] }
}

export const FIELD_REPLIES = { ...FINISH_REASONS, ...ENDS, ...USAGES, ...SHAPES }
