import { createRequire } from 'node:module'
import { jsonPieces } from './json/write.ts'
import { nextTurn } from './turns.ts'

/**
 * Number of o200k tokens of `text`. Markers such as `<|endoftext|>` are plain text, half a surrogate pair counts as U+FFFD. Exact but
 * for words longer than 128 bytes and for texts without a space in 4,096 characters, which are cut there, so that time stays linear:
 * less than a second per megabyte of UTF-8 whatever the text, 0.15 for prose. The first call loads the vocabulary.
 */
export function countTokens(text: string): number {
  let count = 0
  for (const segment of segmentsOf(text)) count += encodeSegment(segment, null)
  return count
}

/** What ends a count early: `signal`, with its reason; more tokens than `most`, and the result is then more than that. */
export type CountLimits = { signal?: AbortSignal | undefined; most?: number }

/** The same number, yielding to other work between segments, and between texts that are called with one after the other. */
export async function countTokensInTurns(
  text: string,
  { signal, most = Number.POSITIVE_INFINITY }: CountLimits = {},
): Promise<number> {
  let count = 0
  for (const segment of segmentsOf(text)) {
    if (count > most) break
    if (countedInTurn > 0 && countedInTurn + segment.length > SEGMENT_CHARACTERS) {
      await nextTurn(signal)
      countedInTurn = 0
    }
    signal?.throwIfAborted()
    countedInTurn += segment.length
    count += encodeSegment(segment, null)
  }
  return count
}

/** The number for a value as JSON text. A text of more than 64,000 characters is cut about there, which may add a token each time. */
export async function countJsonTokens(value: object, limits: CountLimits = {}): Promise<number> {
  const { signal, most = Number.POSITIVE_INFINITY } = limits
  let count = 0
  for (const piece of jsonPieces(value)) {
    if (count > most) break
    count += await countTokensInTurns(piece, { signal, most: most - count })
  }
  return count
}

/** Tokens that a text of so many bytes has at least: no token of o200k is longer. */
export function leastTokens(bytes: number): number {
  return Math.ceil(bytes / TOKEN_BYTES_MAX)
}

/** Characters counted since the event loop of the process last turned. */
let countedInTurn = 0

/** The token ids of `text`, as `countTokens` counts them. Their bytes, one after the other, are the UTF-8 of the text. */
export function encode(text: string): number[] {
  const ids: number[] = []
  for (const segment of segmentsOf(text)) encodeSegment(segment, ids)
  return ids
}

/** The first `max` token ids of `text`, yielding to other work as `countTokensInTurns` does. `cut` is true when there are more. */
export async function encodeInTurns(text: string, max: number): Promise<{ ids: number[]; cut: boolean }> {
  const ids: number[] = []
  for (const segment of segmentsOf(text)) {
    if (ids.length > 0) await nextTurn()
    encodeSegment(segment, ids)
    if (ids.length > max) return { ids: ids.slice(0, max), cut: true }
  }
  return { ids, cut: false }
}

/** Bytes of one token, which may be part of a character only. Throws RangeError when there is no such token. */
export function tokenBytes(id: number): Uint8Array {
  const bytes = vocabulary().tokens[id]
  if (bytes === undefined) throw new RangeError(`There is no token ${id}.`)
  return typeof bytes === 'string' ? Buffer.from(bytes) : Uint8Array.from(bytes)
}

/** Text of one token, U+FFFD where its bytes are no whole character. Throws RangeError when there is no such token. */
export function decodeToken(id: number): string {
  const text = vocabulary().tokens[id]
  return typeof text === 'string' ? text : Buffer.from(tokenBytes(id)).toString()
}

/** Tokens by id: text, or bytes that are no text by themselves. Special tokens are not among them. */
type Tokens = ReadonlyArray<string | readonly number[]>

/** `ids` is keyed by bytes, each as one character of the key. */
type Vocabulary = { tokens: Tokens; ids: ReadonlyMap<string, number>; words: RegExp }

/** Characters handed to the word pattern at once: bounds its stack and the time between two turns of the loop (25 ms at most). */
const SEGMENT_CHARACTERS = 16_384

/** How far before the end of a segment a break is looked for. */
const BREAK_WITHIN = 4096

/** The longest token is of 128 spaces. */
const TOKEN_BYTES_MAX = 128

/** Longer words are cut: merging takes quadratic time. */
const WORD_BYTES_MAX = TOKEN_BYTES_MAX

const NO_RANK = 0x7fffffff

const starts = new Int32Array(WORD_BYTES_MAX + 2)
const ranks = new Int32Array(WORD_BYTES_MAX + 2)
/** The ids of two bytes: half of all look-ups are of these. */
const pairs = new Int32Array(1 << 16).fill(NO_RANK)

let loaded: Vocabulary | null = null

/** Loads 2.4 MB of tables when first needed: they cost start-up time and memory that most processes never have to spend. */
function vocabulary(): Vocabulary {
  if (loaded !== null) return loaded
  const require = createRequire(import.meta.url)
  const { default: tokens } = require('gpt-tokenizer/bpeRanks/o200k_base') as { default: Tokens }
  const { O200K_TOKEN_SPLIT_REGEX } = require('gpt-tokenizer/encodingParams/constants') as {
    O200K_TOKEN_SPLIT_REGEX: RegExp
  }
  const ids = new Map<string, number>()
  tokens.forEach((token, id) => {
    ids.set(typeof token === 'string' ? bytesAsText(token) : String.fromCharCode(...token), id)
  })
  for (const [bytes, id] of ids) if (bytes.length === 2) pairs[pairAt(bytes, 0)] = id
  loaded = { tokens, ids, words: new RegExp(O200K_TOKEN_SPLIT_REGEX) }
  return loaded
}

/** Cut where a word begins for certain: at one space between two characters that are none. */
function* segmentsOf(text: string): Generator<string> {
  let from = 0
  while (text.length - from > SEGMENT_CHARACTERS) {
    let to = from + SEGMENT_CHARACTERS
    const lowest = to - BREAK_WITHIN
    while (to > lowest && !(text[to] === ' ' && isWordEnd(text, to - 1) && isWordEnd(text, to + 1))) to--
    if (to === lowest) to = from + SEGMENT_CHARACTERS - (isHighSurrogate(text, from + SEGMENT_CHARACTERS - 1) ? 1 : 0)
    yield text.slice(from, to)
    from = to
  }
  yield text.slice(from)
}

function isWordEnd(text: string, at: number): boolean {
  return !/\s/.test(text.charAt(at))
}

function isHighSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xd800
}

/** Appends the ids to `into` when there is one; gives their number. */
function encodeSegment(segment: string, into: number[] | null): number {
  const { ids, words } = vocabulary()
  let count = 0
  /** The last piece that was merged, and its tokens: a long line of one character repeats it. */
  let merged = ''
  let tokens = 0
  for (const word of segment.match(words) ?? []) {
    const bytes = bytesAsText(word)
    for (let from = 0; from < bytes.length; ) {
      const to = from + WORD_BYTES_MAX < bytes.length ? characterStart(bytes, from + WORD_BYTES_MAX) : bytes.length
      const piece = bytes.slice(from, to)
      const id = ids.get(piece)
      if (id === undefined) {
        if (piece !== merged || into !== null) tokens = merge(piece, ids, into)
        merged = piece
        count += tokens
      } else {
        into?.push(id)
        count++
      }
      from = to
    }
  }
  return count
}

function bytesAsText(text: string): string {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 0x7f) return Buffer.from(text).toString('latin1')
  }
  return text
}

function characterStart(bytes: string, at: number): number {
  let start = at
  while ((bytes.charCodeAt(start) & 0xc0) === 0x80) start--
  return start
}

function pairAt(bytes: string, at: number): number {
  return (bytes.charCodeAt(at) << 8) | bytes.charCodeAt(at + 1)
}

/** Byte pair encoding: joins the neighbors whose union has the lowest id until none has one. */
function merge(bytes: string, ids: ReadonlyMap<string, number>, into: number[] | null): number {
  let parts = bytes.length
  for (let i = 0; i <= parts; i++) starts[i] = i
  const rankAt = (i: number) => {
    if (i + 2 > parts) return NO_RANK
    const [from, to] = [starts[i]!, starts[i + 2]!]
    if (to - from === 2) return pairs[pairAt(bytes, from)]!
    return ids.get(bytes.slice(from, to)) ?? NO_RANK
  }
  for (let i = 0; i < parts; i++) ranks[i] = rankAt(i)
  for (;;) {
    let lowest = NO_RANK
    let at = -1
    for (let i = 0; i < parts - 1; i++) {
      if (ranks[i]! < lowest) {
        lowest = ranks[i]!
        at = i
      }
    }
    if (at < 0) break
    starts.copyWithin(at + 1, at + 2, parts + 1)
    ranks.copyWithin(at, at + 1, parts)
    parts--
    ranks[at] = rankAt(at)
    if (at > 0) ranks[at - 1] = rankAt(at - 1)
  }
  if (into !== null) for (let i = 0; i < parts; i++) into.push(ids.get(bytes.slice(starts[i], starts[i + 1]))!)
  return parts
}
