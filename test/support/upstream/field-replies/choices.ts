import { chunk, completion, type UpstreamReply } from '../chat-upstream.ts'
import { call, type FieldReply, last, READS_ITSELF, stream, USAGE } from './frames.ts'

const LOOK = '{"at":1}'
const json = (choices: readonly object[]): UpstreamReply => ({
  ...{ kind: 'json', body: { ...completion({}, { usage: USAGE }), choices } },
})
const piece = (index: number, content: string, finish_reason: string | null = null) =>
  chunk({ content }, { index, finish_reason })
const message = (more: object, finish_reason = 'stop') => ({ message: { role: 'assistant', ...more }, finish_reason })
const CALL = { tool_calls: [call(0, 'a', 'look', LOOK)] }

/** Choices that are not numbered from 0, and more of them than were asked for. */
export const CHOICES: Readonly<Record<string, FieldReply>> = {
  'a call in a choice beside its text': {
    reply: json([message({ content: 'Look.' }, 'tool_calls'), message(CALL, 'tool_calls')]),
    ...{ text: 'Look.', calls: [['look', LOOK]], package: READS_ITSELF },
  },
  'a call in a choice after its text': {
    reply: stream([piece(0, 'Look.', 'stop'), chunk(CALL, { index: 1, finish_reason: 'tool_calls' }), last()]),
    ...{ text: 'Look.', calls: [['look', LOOK]], package: READS_ITSELF },
  },
  'an index that counts the pieces': {
    reply: stream([piece(1, 'He'), piece(2, 'llo'), piece(3, '', 'length'), last()]),
    ...{ text: 'Hello', finish: 'length' },
  },
  'choice 1 alone': { reply: stream([piece(1, 'Hel'), piece(1, 'lo', 'stop'), last()]), text: 'Hello' },
  'choice 1 alone, in JSON': { reply: json([{ index: 1, ...message({ content: 'Hello' }) }]), text: 'Hello' },
  'a second choice that nobody asked for': {
    reply: json([message({ content: 'Hello' }), message({ content: 'Bye' }, 'length')]),
    text: 'Hello',
  },
}
