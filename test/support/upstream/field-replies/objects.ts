import { completion, type UpstreamReply } from '../chat-upstream.ts'
import { call, type FieldReply, READS_ITSELF, USAGE, whole } from './frames.ts'

const SIGNED = { google: { thought_signature: 'c2lnbmF0dXJl' } }
const json = (body: object): UpstreamReply => ({ kind: 'json', body })

/** Whole answers in one JSON object, as plain requests get them. */
const PLAIN: Readonly<Record<string, FieldReply>> = {
  'an answer that was aborted': { reply: json(whole({ content: 'Half' }, 'abort')), fails: 'failed' },
  'an answer with an empty reason': { reply: json(whole({ content: 'Hi' }, '')), text: 'Hi' },
  'an answer at its limit, in other words': {
    reply: json(whole({ content: 'Half' }, 'max_output_tokens')),
    text: 'Half',
    finish: 'length',
  },
  'tool_calls as the reason of a text': { reply: json(whole({ content: 'Hi' }, 'tool_calls')), text: 'Hi' },
  'usage in x_groq': {
    reply: json({ ...completion({ content: 'Hi' }, { usage: null }), x_groq: { id: 'r', usage: USAGE } }),
    text: 'Hi',
    package: READS_ITSELF,
  },
  reasoning_details: {
    reply: json(whole({ content: 'Hi', reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }] })),
    text: 'Hi',
    reasoning: 'Hm.',
    package: READS_ITSELF,
  },
  thinking: {
    reply: json(whole({ content: 'Hi', thinking: 'Hm.' })),
    text: 'Hi',
    reasoning: 'Hm.',
    package: READS_ITSELF,
  },
  'a call with a signature': {
    reply: json(
      whole({ content: null, tool_calls: [call(0, 'a', 'look', '{}', { extra_content: SIGNED })] }, 'tool_calls'),
    ),
    calls: [['look', '{}']],
    extra_content: SIGNED,
  },
  "an answer in Cloudflare's result": {
    reply: json({ result: whole({ content: 'Hi' }), success: true, errors: [], messages: [] }),
    text: 'Hi',
  },
  "a text in Cloudflare's result": {
    reply: json({ result: { response: 'Hi', usage: USAGE }, success: true, errors: [], messages: [] }),
    text: 'Hi',
  },
  'an answer in data': { reply: json({ code: 0, msg: 'ok', data: whole({ content: 'Hi' }) }), text: 'Hi' },
  'half a call': {
    reply: json(whole({ content: null, tool_calls: [call(0, 'a', 'look', '{"at":"no')] }, 'tool_calls')),
    ...{ calls: [['look', '{"at":"no']], finish: 'length' },
  },
  'a call without arguments': {
    reply: json(whole({ content: null, tool_calls: [call(0, 'a', 'look', '')] }, 'stop')),
    calls: [['look', '{}']],
  },
}

export const OBJECTS: Readonly<Record<string, FieldReply>> = Object.fromEntries(
  Object.entries(PLAIN).map(([name, row]) => [`in JSON, ${name}`, row]),
)
