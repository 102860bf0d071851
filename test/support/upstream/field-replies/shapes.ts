import { chunk } from '../chat-upstream.ts'
import {
  call,
  calls,
  end,
  type FieldReply,
  last,
  messages,
  READS_ITSELF,
  stream,
  text,
  USAGE,
  whole,
} from './frames.ts'

const line = (object: object) => `data: ${JSON.stringify(object)}\n`
const json = (object: object) => JSON.stringify(object)
const pretty = (object: object) => JSON.stringify(object, null, 2)
const LONG = 'x'.repeat(1_200_000)
const SIGNED = { google: { thought_signature: 'c2lnbmF0dXJl' } }

/** The forms of messages, events and bodies. */
export const SHAPES: Readonly<Record<string, FieldReply>> = {
  'the whole message as the last event': {
    reply: stream([text('Hel'), text('lo'), whole({ content: 'Hello' })]),
    text: 'Hello',
  },
  'the whole message with its call as the last event': {
    reply: stream([
      calls([call(0, 'a', 'look', '{"at"')]),
      chunk({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
      whole({ content: null, tool_calls: [call(0, 'a', 'look', '{"at":1}')] }, 'tool_calls'),
    ]),
    calls: [['look', '{"at":1}']],
  },
  'message instead of delta in each chunk': {
    reply: stream([messages({ content: 'Hel' }), messages({ content: 'lo' }), messages({}, 'stop'), last()]),
    text: 'Hello',
  },
  'the message so far in each chunk': {
    reply: stream([
      messages({ content: 'Hel' }),
      messages({ content: 'Hello' }),
      messages({ content: 'Hello' }, 'stop'),
      last(),
    ]),
    text: 'Hello',
    package: READS_ITSELF,
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
    text: 'Look.',
    calls: [['look', '{"at":1}']],
    package: READS_ITSELF,
  },
  'a signature in the whole message as the last event': {
    reply: stream([
      calls([call(0, 'a', 'look', '{"at":1}')]),
      whole({ content: null, tool_calls: [call(0, 'a', 'look', '{"at":1}', { extra_content: SIGNED })] }, 'tool_calls'),
    ]),
    calls: [['look', '{"at":1}']],
    extra_content: SIGNED,
    package: READS_ITSELF,
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
  },
  'a signature with a call': {
    reply: stream([calls([call(0, 'a', 'look', '{"at":1}', { extra_content: SIGNED })]), end('tool_calls'), last()]),
    calls: [['look', '{"at":1}']],
    extra_content: SIGNED,
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
    text: 'Hi',
    reasoning: 'Hm.',
    package: READS_ITSELF,
  },
  'thinking alone': {
    reply: stream([chunk({ thinking: 'Hm.' }), text('Hi', 'stop'), last()]),
    text: 'Hi',
    reasoning: 'Hm.',
    package: READS_ITSELF,
  },
  'an event of over 1 MiB': { reply: stream([text(LONG, 'stop'), last()]), text: LONG },
  'one line break between events': {
    reply: stream([line(text('Hel')), line(text('lo', 'stop')), line(last()), 'data: [DONE]\n\n'], { done: false }),
    text: 'Hello',
  },
  'a line of JSON for each chunk': {
    reply: {
      kind: 'json',
      type: 'application/x-ndjson',
      body: [text('Hel'), text('lo', 'stop'), last()].map((each) => `${JSON.stringify(each)}\n`).join(''),
    },
    text: 'Hello',
  },
  'a line of JSON with a message in place of a delta for each chunk': {
    reply: {
      kind: 'json',
      type: 'application/x-ndjson',
      body: [messages({ content: 'Hel' }), messages({ content: 'lo' }, 'stop'), last()].map(json).join('\n'),
    },
    text: 'Hello',
  },
  'one chunk in JSON': { reply: { kind: 'json', body: { ...text('Hi', 'stop'), usage: USAGE } }, text: 'Hi' },
  'a completion after comments': {
    reply: { kind: 'json', body: `: wait\n\n: wait\n\n${JSON.stringify(whole({ content: 'Hi' }))}` },
    text: 'Hi',
  },
  ...inText({
    'pretty JSON after comments': `: OPENROUTER PROCESSING\n\n${pretty(whole({ content: 'Hi' }))}`,
    'pretty JSON before [DONE]': `${pretty(whole({ content: 'Hi' }))}\n\ndata: [DONE]\n\n`,
    'pretty JSON without indents after comments': `: wait\n\n${JSON.stringify(whole({ content: 'Hi' }), null, '\n').replace(/\n+/g, '\n')}`,
    'pretty JSON with one data: before it': `data: ${pretty(whole({ content: 'Hi' }))}\n\ndata: [DONE]\n\n`,
    'pretty JSON for each chunk': [text('Hi'), end('stop'), last()].map(pretty).join('\n'),
    'JSON for each chunk without line breaks': [text('Hi'), end('stop'), last()].map(json).join(''),
    'JSON for each chunk, with a line break within one': `${json(text('Hi'))}${pretty(end('stop'))}${json(last())}`,
    'events without line breaks': `${[text('Hi'), end('stop'), last()].map((each) => `data: ${json(each)}`).join('')}data: [DONE]`,
    'a bracket too many': `data: ${json(text('Hi', 'stop'))}}\n\ndata: ${json(last())}\n\n`,
    'lines of JSON with a word between them': [text('Hi'), end('stop'), last()].map(json).join('\nping\n'),
    'events after words without blank lines': `data: wait\n${[text('Hi', 'stop'), last()].map(line).join('data: null\n')}`,
  }),
  'a pretty error after comments': {
    reply: { kind: 'json', body: `: wait\n\n${pretty({ error: { code: 503, message: 'x' } })}` },
    fails: 'overloaded',
  },
  'the name of an error after the data before it, without blank lines': {
    reply: stream([`${line(text('Hi'))}event: error\n`, line({ code: 503, message: 'x' })], { done: false }),
    fails: 'overloaded',
  },
  'the name of an error after its data': {
    reply: stream([text('Hi'), `${line({ code: 503, message: 'x' })}event: error\n\n`]),
    fails: 'overloaded',
  },
  'a ping with text': {
    reply: stream([
      'event: ping\ndata: still here\n\n',
      text('Hi'),
      'event: ping\ndata: {"time":1}\n\n',
      end('stop'),
      last(),
    ]),
    text: 'Hi',
  },
  'objects without members, pings and choices that are null': {
    reply: stream([text('Hel'), {}, { type: 'ping' }, { ...chunk({}), choices: [null] }, text('lo', 'stop'), last()]),
    text: 'Hello',
  },
  'data: null': { reply: stream([text('Hi'), 'data: null\n\n', end('stop'), last()]), text: 'Hi' },
  'status 201': { reply: stream([text('Hi', 'stop'), last()], { status: 201 }), text: 'Hi' },
  ...Object.fromEntries(
    (['gzip', 'x-gzip', 'deflate', 'br', 'zstd'] as const).map((coding): [string, FieldReply] => [
      `events in ${coding}`,
      { reply: stream([text('Hi', 'stop'), last()], { coding, piece_bytes: 20 }), text: 'Hi' },
    ]),
  ),
  'an error in br': {
    reply: { kind: 'json', status: 503, body: { error: { message: 'x', code: 'overloaded' } }, coding: 'br' },
    fails: 'overloaded',
  },
  'a completion in gzip': { reply: { kind: 'json', body: whole({ content: 'Hi' }), coding: 'gzip' }, text: 'Hi' },
  'events under application/json': {
    reply: stream([text('Hel'), text('lo', 'stop'), last()], { type: 'application/json' }),
    text: 'Hello',
  },
  ...Object.fromEntries(
    ['text/plain', 'text/html', null, 'text/event-stream'].map((type): [string, FieldReply] => [
      `a completion under ${type ?? 'no media type'}`,
      { reply: { kind: 'json', type, body: whole({ content: 'Hi' }) }, text: 'Hi' },
    ]),
  ),
  'an error under text/event-stream': {
    reply: { kind: 'json', type: 'text/event-stream', body: { error: { code: 503, message: 'x' } } },
    fails: 'overloaded',
  },
  "Gemini's list of errors": {
    reply: { kind: 'json', body: [{ error: { code: 503, message: 'x', status: 'UNAVAILABLE' } }] },
    fails: 'overloaded',
  },
}

function inText(bodies: Readonly<Record<string, string>>): Record<string, FieldReply> {
  return Object.fromEntries(
    Object.entries(bodies).map(([name, body]) => [name, { reply: { kind: 'json', body }, text: 'Hi' }]),
  )
}
