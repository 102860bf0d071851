import { createHash } from 'node:crypto'
import { writeJson } from '../../platform/json-write.ts'
import { turnTaker } from '../../platform/turns.ts'
import type { ChatMessage, ChatPart, ChatRequest } from '../chat.ts'
import { type Clues, cluesOf } from './clues.ts'
import { describeMedia } from './media.ts'

/** What a user message can ask of the sandbox itself, written as `sandbox:<name>` anywhere in it. */
export const DIRECTIVES = ['refuse', 'filter', 'error', 'overloaded', 'too_long', 'empty', 'echo', 'long'] as const
export type Directive = (typeof DIRECTIVES)[number]

/** The request as the sandbox understands it. `seed` is the same for equal content, whatever the limits and the way of delivery. */
export type Prompt = {
  seed: string
  /** Text of the last message of the user. */
  text: string
  clues: Clues
  directive: { name: Directive; rest: string } | null
  /** What came with the last message of the user beside text, in words. */
  media: string | null
  /** Whether the conversation ends with the user's word, so that a tool may be called. */
  is_users_turn: boolean
  /** Results of tools that the conversation ends with. */
  results: Array<{ name: string; text: string }>
  instructions_words: number
  turns: number
}

/** Gives way to other work while it reads a long conversation. */
export async function readPrompt(request: ChatRequest): Promise<Prompt> {
  const { messages } = request
  const last = messages.findLast((message) => message.role === 'user')
  const parts: ChatPart[] =
    typeof last?.content === 'string' ? [{ type: 'text', text: last.content }] : (last?.content ?? [])
  const text = parts
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('\n')
    .trim()
  const clues = cluesOf(text)
  return {
    seed: await seedOf(request),
    text,
    clues,
    directive: directiveIn(text),
    media: describeMedia(parts, clues.japanese),
    is_users_turn: messages.at(-1)?.role === 'user',
    results: resultsAtEnd(messages),
    instructions_words: await wordsOf(messages),
    turns: messages.filter((message) => message.role === 'user').length,
  }
}

/** Text of a message, its parts joined by line ends. */
export function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('\n')
}

/** Characters in which a directive is looked for. */
const DIRECTIVE_WITHIN = 1_000_000

function directiveIn(text: string): Prompt['directive'] {
  const found = /(?<![\w:])sandbox:([a-z_]{1,20})(?![\w:])[ \n]?/.exec(text.slice(0, DIRECTIVE_WITHIN))
  const name = DIRECTIVES.find((name) => name === found?.[1])
  return name === undefined ? null : { name, rest: text.slice(found!.index + found![0].length) }
}

/** Words of all instructions. */
async function wordsOf(messages: readonly ChatMessage[]): Promise<number> {
  const turn = turnTaker(1)
  let words = 0
  for (const message of messages) {
    if (message.role !== 'system' && message.role !== 'developer') continue
    words += 1
    let endsInGap = false
    for (const slice of slicesOf(textOf(message))) {
      words += slice.match(/\s+/g)?.length ?? 0
      if (endsInGap && /^\s/.test(slice)) words -= 1
      endsInGap = /\s$/.test(slice)
      const other = turn()
      if (other) await other
    }
  }
  return words
}

const SLICE_CHARACTERS = 64 * 1024

/** Cut between characters. */
function* slicesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + SLICE_CHARACTERS, text.length)
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to -= 1
    yield text.slice(from, to)
    from = to
  }
}

/** Of media the length and the first characters count: enough to tell them apart, and cheap. */
async function seedOf({ model, messages, seed, tools, response_format }: ChatRequest): Promise<string> {
  const hash = createHash('sha256')
  const turn = turnTaker(1)
  const add = async (text: string) => {
    hash.update(`${text.length}:`)
    for (const slice of slicesOf(text)) {
      hash.update(slice)
      const other = turn()
      if (other) await other
    }
  }
  const addJson = async (value: object) => {
    const text = writeJson(value)
    if (typeof text === 'string') return add(text)
    for (const piece of await text) hash.update(piece)
  }
  await addJson([model, seed ?? null, tools ?? null, response_format ?? null])
  for (const message of messages) {
    await add(message.role)
    if (message.role === 'assistant' && message.tool_calls !== undefined) await addJson(message.tool_calls)
    if (typeof message.content === 'string') await add(message.content)
    else for (const part of message.content ?? []) await add(part.type === 'text' ? part.text : mediaMark(part))
  }
  return hash.digest('hex')
}

function mediaMark(part: Exclude<ChatPart, { type: 'text' }>): string {
  if (part.type === 'input_audio') return mark(part.input_audio.data)
  if (part.type === 'image_url') return mark(part.image_url.url)
  return mark(part.type === 'video_url' ? part.video_url.url : part.audio_url.url)
}

function mark(data: string): string {
  return `${data.length} ${data.slice(0, 200)} ${data.slice(-200)}`
}

function resultsAtEnd(messages: readonly ChatMessage[]): Prompt['results'] {
  const start = messages.findLastIndex((message) => message.role !== 'tool') + 1
  const caller = messages[start - 1]
  const calls = caller?.role === 'assistant' ? (caller.tool_calls ?? []) : []
  const names = new Map(calls.map(({ id, function: { name } }) => [id, name]))
  return messages.slice(start).flatMap((message) => {
    if (message.role !== 'tool') return []
    return [{ name: names.get(message.tool_call_id) ?? 'tool', text: textOf(message) }]
  })
}
