import { createHash } from 'node:crypto'
import { pictureSize } from '../../../media/picture-size.ts'
import { writeJson } from '../../../platform/json/write.ts'
import { turnTaker } from '../../../platform/turns.ts'
import type { ChatMessage, ChatPart, ChatRequest } from '../contract.ts'

/** What a user message can ask of the sandbox itself, written as `sandbox:<name>` anywhere in it. */
const DIRECTIVES = ['refuse', 'filter', 'error', 'overloaded', 'too_long', 'empty', 'echo', 'long'] as const

/** The request as the sandbox understands it. `seed` is the same for equal content, whatever the limits and the way of delivery. */
export type Prompt = {
  seed: string
  /** Text of the last message of the user, as far as it is read, and what came with it beside text, in words. */
  text: string
  media: string | null
  clues: Clues
  directive: { name: (typeof DIRECTIVES)[number]; rest: string } | null
  /** Whether the conversation ends with the user's word, so that a tool may be called. */
  is_users_turn: boolean
  /** Results of tools that the conversation ends with. */
  results: Array<{ name: string; text: string }>
  turns: number
}

/** What a prompt holds that a value could be made of. Everything is taken from its first 4,000 characters. */
export type Clues = {
  japanese: boolean
  /** The prompt on one line, at most `characters` long. */
  excerpt(characters: number): string
  mentions(word: string): boolean
  numbers: number[]
  place: string | undefined
  email: string | undefined
  url: string | undefined
  date: string | undefined
}

/** Reads the conversation, a long one in steps between other work. Rejects once `signal` aborts. */
export async function readPrompt(request: ChatRequest, signal?: AbortSignal): Promise<Prompt> {
  const asked = request.messages.filter((message) => message.role === 'user')
  const last = asked.at(-1) ?? { role: 'user', content: '' }
  const text = textOf(last).trim()
  const clues = cluesOf(text.slice(0, CLUES_CHARACTERS).toWellFormed())
  return {
    seed: await seedOf(request, signal),
    clues,
    directive: directiveIn(text),
    turns: asked.length,
    text: text.slice(0, NAMES_CHARACTERS),
    media: typeof last.content === 'string' ? null : describeMedia(last.content, clues.japanese),
    is_users_turn: request.messages.at(-1)?.role === 'user',
    results: resultsAtEnd(request.messages),
  }
}

/** Characters in which clues, names of tools, and a directive are looked for. */
const CLUES_CHARACTERS = 4000
const NAMES_CHARACTERS = 100_000
const DIRECTIVE_CHARACTERS = 1_000_000

/** At most `characters` code points on one line, an ellipsis included where something is missing. */
export function shorten(text: string, characters: number): string {
  const line = text
    .slice(0, characters * 8)
    .replace(/\s+/g, ' ')
    .trim()
  const kept = [...line].slice(0, characters - 1).join('')
  return [...line].length <= characters ? line : `${kept.trimEnd()}…`
}

/** Text of a message, its parts joined by line ends. */
function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('\n')
}

function cluesOf(text: string): Clues {
  const place = /\b(?:in|at|near|to|from|of|for)\s(\p{Lu}[\p{L}'’-]{1,30}(?:,?\s\p{Lu}[\p{L}'’-]{0,30}){0,3})/u.exec(
    text,
  )
  const lower = text.toLowerCase()
  return {
    // No other language uses kana.
    japanese: /[\u3041-\u30fa\uff66-\uff9d]/.test(text),
    excerpt: (characters) => shorten(text, characters),
    mentions: (word) => word.length > 1 && lower.includes(word.toLowerCase()),
    numbers: (text.match(/(?<![\w.-])-?\d{1,12}(?:\.\d{1,6})?(?![\w-])/g) ?? []).slice(0, 20).map(Number),
    place: place?.[1] ?? /[\p{Script=Han}ァ-ヶー]{2,10}(?=の(?:天気|気温|時刻|地図))/u.exec(text)?.[0],
    email: /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}/.exec(text)?.[0],
    url: /https?:\/\/[\w.-]{1,200}(?:\/[\w./?=&%-]{0,500})?/.exec(text)?.[0],
    date: /\b\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d)\b/.exec(text)?.[0],
  }
}

function directiveIn(text: string): Prompt['directive'] {
  const found = /(?<![\w:])sandbox:([a-z_]{1,20})(?![\w:])[ \n]?/.exec(text.slice(0, DIRECTIVE_CHARACTERS))
  const name = DIRECTIVES.find((name) => name === found?.[1])
  return name === undefined ? null : { name, rest: text.slice(found!.index + found![0].length) }
}

/** Lists the pictures, clips and sounds of a message in words, as in `1 image (PNG, 64×48)`; null when none did. */
function describeMedia(parts: readonly ChatPart[], japanese: boolean): string | null {
  const facts: Record<'image' | 'video' | 'audio clip', string[]> = { image: [], video: [], 'audio clip': [] }
  for (const part of parts) {
    if (part.type === 'image_url') facts.image.push(describePicture(part.image_url.url))
    else if (part.type === 'video_url') facts.video.push('')
    else if (part.type !== 'text')
      facts['audio clip'].push(part.type === 'input_audio' ? part.input_audio.format.toUpperCase() : '')
  }
  const units = { image: '枚の画像', video: '本の動画', 'audio clip': '件の音声' }
  const groups = Object.entries(facts).flatMap(([kind, each]) => {
    const known = each.filter((fact) => fact !== '').slice(0, 4)
    const unit = japanese ? units[kind as keyof typeof units] : ` ${kind}${each.length === 1 ? '' : 's'}`
    return each.length === 0 ? [] : [`${each.length}${unit}${known.length === 0 ? '' : ` (${known.join('; ')})`}`]
  })
  return groups.length === 0 ? null : groups.join(japanese ? 'と' : groups.length > 2 ? ', ' : ' and ')
}

function describePicture(url: string): string {
  const picture = pictureSize(url)
  return picture === null ? '' : `${picture.format}, ${picture.width}×${picture.height}`
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

const SLICE_CHARACTERS = 64 * 1024

/** Of media, the length and the first and last characters count: cheap, and enough to distinguish two of them. */
async function seedOf(
  { model, messages, seed, tools, response_format }: ChatRequest,
  signal: AbortSignal | undefined,
): Promise<string> {
  const hash = createHash('sha256')
  const turn = turnTaker(1, signal)
  const add = async (text: string) => {
    hash.update(`${text.length}:`)
    for (let from = 0; from < text.length; from += SLICE_CHARACTERS) {
      hash.update(text.slice(from, from + SLICE_CHARACTERS), 'utf16le')
      await turn()
    }
  }
  const addJson = async (value: object) => {
    const text = await writeJson(value, signal)
    for (const piece of typeof text === 'string' ? [text] : text) hash.update(piece)
  }
  await addJson([model, seed ?? null, tools ?? null, response_format ?? null])
  for (const message of messages) {
    await add(message.role)
    if (message.role === 'assistant' && message.tool_calls !== undefined) await addJson(message.tool_calls)
    if (typeof message.content === 'string') await add(message.content)
    else for (const part of message.content ?? []) await add(part.type === 'text' ? part.text : markOf(part))
  }
  return hash.digest('hex')
}

function markOf(part: Exclude<ChatPart, { type: 'text' }>): string {
  const [data = ''] = Object.values(Object.values(part).find((value) => typeof value === 'object')) as string[]
  return `${data.length} ${data.slice(0, 200)} ${data.slice(-200)}`
}
