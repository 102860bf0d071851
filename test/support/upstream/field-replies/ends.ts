import { chunk } from '../chat-upstream.ts'
import { call, calls, end, type FieldReply, last, READS_ITSELF, stream, text, USAGE, whole } from './frames.ts'

/** What servers give as the reason of the end. */
export const FINISH_REASONS: Readonly<Record<string, FieldReply>> = {
  'an empty reason on every chunk': {
    reply: stream([text('Hel', ''), text('lo world', ''), end('stop'), last()]),
    text: 'Hello world',
  },
  ...Object.fromEntries(
    ['null', 'None', 'undefined', 'FINISH_REASON_UNSPECIFIED', 'in_progress'].flatMap(
      (word): Array<[string, FieldReply]> => [
        [
          `the reason ${word} on every chunk`,
          {
            reply: stream([text('Hel', word), text('lo', word), end('length'), last()]),
            text: 'Hello',
            finish: 'length',
          },
        ],
        [
          `the reason ${word} on every chunk, and a lost connection`,
          { reply: stream([text('Half an ans', word)], { done: false }), fails: 'failed' },
        ],
      ],
    ),
  ),
  ...Object.fromEntries(
    ['stop', 'tool_calls'].map((reason): [string, FieldReply] => [
      `${reason} after half a call`,
      {
        reply: stream([
          ...[calls([call(0, 'a', 'look', '')]), calls([{ index: 0, function: { arguments: '{"at":"no' } }])],
          ...[end(reason), last()],
        ]),
        ...{ calls: [['look', '{"at":"no']], finish: 'length' },
      },
    ]),
  ),
  'the reason as finishReason': {
    reply: stream([
      { ...chunk({}), choices: [{ index: 0, delta: { content: 'Half' } }] },
      { ...chunk({}), choices: [{ index: 0, delta: {}, finishReason: 'MAX_TOKENS' }] },
    ]),
    text: 'Half',
    finish: 'length',
    usage: null,
    package: READS_ITSELF,
  },
  'a reason that is an object': {
    reply: stream([text('Half'), end({ type: 'length', length: 9 }), last()], { done: false, finally: 'stall' }),
    text: 'Half',
    finish: 'length',
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
    text: 'Let me look.',
    calls: [['look', '{"at":1}']],
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
  ...named(['maxPredictedTokensReached', 'context_limit', 'exceeded_output_limit', 'incomplete'], { finish: 'length' }),
  ...named(['SAFETY', 'content_filtered', 'sensitive', 'RECITATION', 'PROHIBITED_CONTENT', 'guardrail_intervened'], {
    finish: 'content_filter',
  }),
  ...named(['eos', 'end_turn', 'COMPLETE', 'who knows'], { finish: 'stop' }),
  ...named(['abort', 'error', 'cancelled', 'network_error', 'MALFORMED_FUNCTION_CALL'], { fails: 'failed' }),
  ...named(['function_call_filter: MALFORMED_FUNCTION_CALL', 'function_call_filter: UNEXPECTED_TOOL_CALL'], {
    fails: 'failed',
  }),
  ...named(['modelUnloaded', 'userStopped', 'terminated', 'exception'], { fails: 'failed' }),
}

function named(reasons: readonly string[], what: Partial<FieldReply>): Record<string, FieldReply> {
  return Object.fromEntries(
    reasons.map((reason) => [
      `the reason ${reason}`,
      { reply: stream([text('Half an ans'), end(reason), last()]), text: 'Half an ans', ...what },
    ]),
  )
}

const OPEN = { done: false, finally: 'stall' } as const
const data = (object: object) => `data: ${JSON.stringify(object)}`
const json = (object: object) => JSON.stringify(object)
const pretty = (object: object) => JSON.stringify(object, null, 2)

const NO_REASON = 'the package fails without a reason'

/** How answers end, with or without a reason. */
export const ENDS: Readonly<Record<string, FieldReply>> = {
  'text, usage and [DONE] without a reason': {
    reply: stream([text('All of it'), last()]),
    text: 'All of it',
    package: NO_REASON,
  },
  'text and usage without a reason and [DONE]': {
    reply: stream([text('All of it'), last()], { done: false }),
    text: 'All of it',
    package: NO_REASON,
  },
  'a call, usage and [DONE] without a reason': {
    reply: stream([calls([call(0, 'a', 'look', '{}')]), last()]),
    calls: [['look', '{}']],
    package: NO_REASON,
  },
  'a reason before any text, and a lost connection': {
    reply: stream([chunk({ role: 'assistant', content: '' }, { finish_reason: 'stop' })], {
      done: false,
      finally: 'reset',
    }),
    fails: 'failed',
  },
  'an error event without words after the reason': {
    reply: stream([text('Hi', 'stop'), 'event: error\ndata: null\n\n']),
    fails: 'failed',
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
    text: 'Hi',
  },
  'stop on every chunk, and usage on a connection that stays open': {
    reply: stream([text('Hel', 'stop'), text('lo', 'stop'), text(' you', 'stop'), last()], {
      done: false,
      finally: 'stall',
    }),
    text: 'Hello you',
  },
  'a reason alone on a connection that stays open': {
    reply: stream([text('Hi'), end('stop')], { ...OPEN, piece_bytes: 100 }),
    text: 'Hi',
    usage: null,
  },
  'stop on every chunk, and usage in the last, on a connection that stays open': {
    reply: stream(
      [text('Hel', 'stop'), text('lo', 'stop'), text(' y', 'stop'), { ...text('ou', 'stop'), usage: USAGE }],
      { done: false, finally: 'stall' },
    ),
    text: 'Hello you',
    package: 'which of its reasons is meant is not known before the connection closes',
  },
  'text and usage without a reason, and a lost connection': {
    reply: stream([text('All of it'), last()], { done: false, finally: 'reset' }),
    text: 'All of it',
    package: NO_REASON,
  },
  'a whole answer in JSON on a connection that stays open': {
    reply: stream([`${JSON.stringify(whole({ content: 'Hi' }))}\n`], { done: false, finally: 'stall' }),
    text: 'Hi',
    plain: 'also',
  },
  'no text, a reason and usage on a connection that stays open': {
    reply: stream([chunk({ role: 'assistant', content: '' }), end('stop'), last()], { done: false, finally: 'stall' }),
  },
  ...open({
    'a list in JSON': [json([text('Hel'), text('lo', 'stop'), last()])],
    'a list in pretty JSON': [pretty([text('Hello', 'stop'), last()])],
    'a completion in pretty JSON': [pretty(whole({ content: 'Hello' }))],
    'a completion in JSON with an empty reason': [json(whole({ content: 'Hello' }, ''))],
    'lines of JSON': [`${json(text('Hel'))}\n`, `${json(text('lo', 'stop'))}\n`, `${json(last())}\n`],
    'lines of JSON without the last line break': [`${json(text('Hel'))}\n${json(text('lo', 'stop'))}\n${json(last())}`],
    'lines of pretty JSON': [`${pretty(text('Hel'))}\n`, `${pretty(text('lo', 'stop'))}\n`, `${pretty(last())}\n`],
    'JSON for each chunk without line breaks': [json(text('Hel')) + json(text('lo', 'stop')) + json(last())],
    'a list in JSON and a last space': [json([text('Hello', 'stop'), last()]), '\n'],
    'the end mark alone': [text('Hello', 'stop'), last(), 'data: [DONE]\n\n'],
    'one line break after each event': [`${data(text('Hel'))}\n`, `${data({ ...text('lo', 'stop'), usage: USAGE })}\n`],
    'the usage alone without its blank line': [text('Hello'), end('stop'), `${data(last())}\n`],
    'the usage alone without any line break': [text('Hello'), end('stop'), data(last())],
    'a completion in JSON after a comment': [`: wait\n\n${json(whole({ content: 'Hello' }))}`],
    'a completion in pretty JSON after comments': [': wait\n\n', `: wait\n\n${pretty(whole({ content: 'Hello' }))}\n`],
  }),
  'the end mark alone without its blank line on a connection that stays open': {
    reply: stream([text('Hello'), last(), 'data: [DONE]\n'], OPEN),
    text: 'Hello',
    package: NO_REASON,
  },
  'a completion in JSON without a reason and usage on a connection that stays open': {
    reply: stream([json({ choices: [{ message: { content: 'Hello' } }] })], OPEN),
    text: 'Hello',
    usage: null,
    plain: 'also',
  },
  'a list in JSON without a reason and usage on a connection that stays open': {
    reply: stream([json([text('Hello')])], OPEN),
    fails: 'failed',
  },
  'an error without its blank line on a connection that stays open': {
    reply: stream([data({ error: { code: 503, message: 'x' } })], OPEN),
    fails: 'overloaded',
  },
  'a reason and usage without a blank line, and a lost connection': {
    reply: stream([`${data(text('Hel'))}\n${data(text('lo', 'stop'))}\n${data(last())}\n`], {
      done: false,
      finally: 'reset',
    }),
    text: 'Hello',
  },
  'lines of JSON that break off': {
    reply: { kind: 'json', body: `${json(text('Half an'))}\n${json(text('swer'))}\n` },
    fails: 'failed',
    reason: /^$/,
  },
  'a first line of JSON, and a lost connection': {
    reply: stream([`${json(text('Hel'))}\n`], { done: false, finally: 'reset' }),
    fails: 'failed',
  },
}

function open(replies: Readonly<Record<string, ReadonlyArray<object | string>>>): Record<string, FieldReply> {
  return Object.fromEntries(
    Object.entries(replies).map(([name, frames]) => [
      `${name} on a connection that stays open`,
      { reply: stream(frames, OPEN), text: 'Hello' },
    ]),
  )
}
