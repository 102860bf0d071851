import { chunk, completion, type UpstreamReply } from '../chat-upstream.ts'
import { call, type FieldReply, last, READS_ITSELF, stream, text, USAGE } from './frames.ts'

const LOOK = '{"at":1}'
const json = (choices: readonly object[]): UpstreamReply => ({
  kind: 'json',
  body: { ...completion({}, { usage: USAGE }), choices },
})
const piece = (index: number, content: string, finish_reason: string | null = null) =>
  chunk({ content }, { index, finish_reason })
const message = (more: object, finish_reason = 'stop') => ({ message: { role: 'assistant', ...more }, finish_reason })
const CALL = { tool_calls: [call(0, 'a', 'look', LOOK)] }

const EMPTY = { role: null, content: '', tool_calls: null, function_calls: null, reasoning_content: '' }
const both = (message: object, finish_reason: string | null = null) => ({
  ...chunk({}),
  choices: [{ index: 0, delta: EMPTY, message: { role: 'assistant', ...message }, finish_reason }],
})
const written = (content: unknown): FieldReply => ({
  reply: json([{ index: 0, ...message({ content }) }]),
  text: 'Hello',
  package: READS_ITSELF,
})
const withError = (error: object): FieldReply => ({
  reply: stream([
    { ...text('Hel'), error },
    { ...text('lo', 'stop'), error },
    { ...last(), error },
  ]),
  text: 'Hello',
})

/** Choices that are not numbered from 0, and more of them than were asked for. */
export const CHOICES: Readonly<Record<string, FieldReply>> = {
  'a call in a choice beside its text': {
    reply: json([message({ content: 'Look.' }, 'tool_calls'), message(CALL, 'tool_calls')]),
    text: 'Look.',
    calls: [['look', LOOK]],
    package: READS_ITSELF,
  },
  'a call in a choice after its text': {
    reply: stream([piece(0, 'Look.', 'stop'), chunk(CALL, { index: 1, finish_reason: 'tool_calls' }), last()]),
    text: 'Look.',
    calls: [['look', LOOK]],
  },
  'an index that counts the pieces': {
    reply: stream([piece(1, 'He'), piece(2, 'llo'), piece(3, '', 'length'), last()]),
    text: 'Hello',
    finish: 'length',
  },
  'choice 1 alone': { reply: stream([piece(1, 'Hel'), piece(1, 'lo', 'stop'), last()]), text: 'Hello' },
  'choice 1 alone, in JSON': { reply: json([{ index: 1, ...message({ content: 'Hello' }) }]), text: 'Hello' },
  'a second choice that nobody asked for': {
    reply: json([message({ content: 'Hello' }), message({ content: 'Bye' }, 'length')]),
    text: 'Hello',
  },
  'a message beside an empty delta': {
    reply: stream([both({ content: 'Hel' }), both({ content: 'lo' }), both({}, 'stop'), last()]),
    text: 'Hello',
  },
  'a message beside an empty delta, in JSON': {
    reply: json([{ index: 0, delta: EMPTY, ...message({ content: 'Hello' }) }]),
    text: 'Hello',
  },
  'text in place of a delta': {
    reply: stream([
      { ...chunk({}), choices: [{ index: 0, text: 'Hel', finish_reason: null }] },
      { ...chunk({}), choices: [{ index: 0, delta: {}, text: 'lo', finish_reason: 'stop' }] },
      last(),
    ]),
    text: 'Hello',
  },
  'text in place of a message, in JSON': {
    reply: json([{ index: 0, text: 'Hello', finish_reason: 'stop' }]),
    text: 'Hello',
    package: READS_ITSELF,
  },
  'content as a list of texts': written(['Hel', 'lo']),
  'content as parts with values': written([{ type: 'text', text: { value: 'Hello', annotations: [] } }]),
  'an error without words beside each choice': withError({ message: '', type: '', code: null }),
  'an error that says success beside each choice': withError({ code: 0, message: 'success' }),
  'numbers that are not JSON': {
    reply: stream([
      `data: ${JSON.stringify(text('He'))}\n\n`.replace(
        '"logprobs":null',
        '"logprobs":{"content":[{"logprob":-Infinity}]}',
      ),
      `data: ${JSON.stringify({ ...text('llo: NaN', 'stop'), speed: 'X' }).replace('"X"', 'NaN')}\n\n`,
      last(),
    ]),
    text: 'Hello: NaN',
  },
}
