import { createHash } from 'node:crypto'
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

export function readPrompt(request: ChatRequest): Prompt {
  const { messages } = request
  const last = messages.findLast((message) => message.role === 'user')
  const parts: ChatPart[] =
    typeof last?.content === 'string' ? [{ type: 'text', text: last.content }] : (last?.content ?? [])
  const text = parts
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('\n')
    .trim()
  const clues = cluesOf(text)
  const instructions = messages.filter((message) => message.role === 'system' || message.role === 'developer')
  return {
    seed: seedOf(request),
    text,
    clues,
    directive: directiveIn(text),
    media: describeMedia(parts, clues.japanese),
    is_users_turn: messages.at(-1)?.role === 'user',
    results: resultsAtEnd(messages),
    instructions_words: instructions.map((message) => textOf(message).split(/\s+/).length).reduce((a, b) => a + b, 0),
    turns: messages.filter((message) => message.role === 'user').length,
  }
}

/** Text of a message, its parts joined by line ends. */
export function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('\n')
}

function directiveIn(text: string): Prompt['directive'] {
  const found = /(?<![\w:])sandbox:([a-z_]{1,20})(?![\w:])[ \n]?/.exec(text)
  const name = DIRECTIVES.find((name) => name === found?.[1])
  return name === undefined ? null : { name, rest: text.slice(found!.index + found![0].length) }
}

/** Of media the length and the first characters count: enough to tell them apart, and cheap. */
function seedOf({ model, messages, seed, tools, response_format }: ChatRequest): string {
  const hash = createHash('sha256')
  const add = (text: string) => hash.update(`${text.length}:`).update(text)
  add(JSON.stringify([model, seed ?? null, tools ?? null, response_format ?? null]))
  for (const message of messages) {
    add(message.role)
    if (message.role === 'assistant' && message.tool_calls !== undefined) add(JSON.stringify(message.tool_calls))
    if (typeof message.content === 'string') add(message.content)
    else for (const part of message.content ?? []) add(part.type === 'text' ? part.text : mediaMark(part))
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
