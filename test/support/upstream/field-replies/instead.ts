import { chunk } from '../chat-upstream.ts'
import { type FieldReply, stream, text } from './frames.ts'

const OPEN = { done: false, finally: 'stall' } as const
const json = (object: object) => JSON.stringify(object)
const pretty = (object: object) => JSON.stringify(object, null, 2)

const BUSY = { code: 1305, message: 'The model is overloaded.' }
const SAYS = { fails: 'overloaded', reason: /overloaded/, plain: 'also' } as const

/** As OpenRouter reports what a provider fails at. */
const inChoice = (more: object) => ({ ...chunk({}), choices: [{ index: 0, ...more, error: BUSY }] })

/** Errors in the place of an answer, or of its rest, on a connection that stays open. */
export const INSTEAD: Readonly<Record<string, FieldReply>> = {
  ...open(SAYS, {
    'code and message in JSON': [json(BUSY)],
    'code and message in pretty JSON': [`${pretty(BUSY)}\n`],
    'code and message in a list': [json([BUSY])],
    'code and message in an event': [BUSY],
    'a message in JSON': [json({ message: 'The model is overloaded.' })],
    'an error in JSON': [json({ error: BUSY })],
    'an error that is true, in JSON': [json({ error: true, message: 'The model is overloaded.' })],
    'the end mark after words': ['data: The model is overloaded.\n\ndata: [DONE]\n\n'],
    'base_resp in an event': [{ choices: null, base_resp: { status_code: 1002, status_msg: 'overloaded' } }],
    'an error event in words': ['event: error\ndata: The model is overloaded.\n\n'],
    'code and message after many pings': [
      ...Array.from({ length: 9 }, () => ({ type: 'ping', message: 'wait' })),
      BUSY,
    ],
    'success false in an event': [{ success: false, errors: [{ message: 'overloaded' }] }],
    'code and message in an event without its blank line': [`data: ${json(BUSY)}\n`],
    'code and message beside no choices': [{ id: 'x', choices: [], ...BUSY }],
    'code and message after comments': [`: wait\n\n${json(BUSY)}`],
    'an error event in words without its blank line': ['event: error\ndata: The model is overloaded.\n'],
    'a line error: without its line break': [`error: ${json(BUSY)}`],
    'an error in a choice without a reason': [inChoice({ delta: { content: '' } })],
    'an error in a choice in JSON': [json(inChoice({ message: { role: 'assistant', content: '' } }))],
  }),
  ...open(
    { ...SAYS, text: 'Hel' },
    {
      "Groq's error in x_groq after text": [
        text('Hel', 'stop'),
        { ...chunk({}), choices: [], x_groq: { id: 'r', error: 'over capacity, overloaded' } },
      ],
      'code and message after text': [text('Hel'), BUSY],
      'an error after text': [text('Hel'), { error: BUSY }],
      'an error in a choice after text': [text('Hel'), inChoice({ delta: { content: '' } })],
    },
  ),
  ...open({ fails: 'failed', plain: 'only' }, { 'JSON without choices': [json({ id: 'x', choices: [] })] }),
  ...open({ fails: 'failed', reason: /next message/ }, { detail: [{ detail: 'The next message is wrong.' }] }),
  ...open({ fails: 'failed' }, { 'a page': ['<html>'], 'the end mark': ['data: [DONE]\n\n'] }),
  'words alone': { reply: { kind: 'json', type: 'text/plain', body: 'Error: the model is overloaded' }, ...SAYS },
  'words in place of an answer': { reply: stream(['data: The model is overloaded.\n\n'], { done: false }), ...SAYS },
  'words before an answer that breaks off': {
    reply: stream(['data: The model is overloaded.\n\n', text('Hel')], { done: false, finally: 'reset' }),
    fails: 'failed',
    reason: /^$/,
  },
  'code and message after text, and a lost connection': {
    reply: stream([text('Hel'), BUSY], { done: false, finally: 'reset' }),
    ...SAYS,
  },
}

function open(
  what: Omit<FieldReply, 'reply'>,
  replies: Readonly<Record<string, ReadonlyArray<object | string>>>,
): Record<string, FieldReply> {
  return Object.fromEntries(
    Object.entries(replies).map(([name, frames]) => [
      `${name} in place of an answer, on a connection that stays open`,
      { ...what, reply: stream(frames, OPEN) },
    ]),
  )
}
