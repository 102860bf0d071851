import { isUtf8 } from 'node:buffer'
import { encode, encodeInTurns, tokenBytes } from '../../platform/tokenizer.ts'

/** Some tokens that are whole characters together: one but for rare characters. */
export type Piece = { text: string; ids: readonly number[] }

export type Cut = { pieces: Piece[]; reason: 'stop' | 'length'; tokens: number }

/** A text token by token. */
export function piecesOf(text: string): Piece[] {
  return join(encode(text))
}

/** The first `max` tokens of a text, read in turns; `cut` says that it has more. */
export async function piecesInTurns(text: string, max: number): Promise<{ pieces: Piece[]; cut: boolean }> {
  const { ids, cut } = await encodeInTurns(text, max)
  return { pieces: join(ids), cut }
}

/**
 * A text up to the first stop sequence or the limit of tokens, whichever comes first. The stop sequence itself is left out, and a
 * character whose tokens the limit parts, though the tokens made of it count.
 */
export function cut(pieces: readonly Piece[], limits: { stop: readonly string[]; tokens: number }): Cut {
  const { kept, tokens, isWhole } = take(pieces, limits.tokens)
  const at = firstStop(kept.map((piece) => piece.text).join(''), limits.stop)
  if (at < 0) return { pieces: kept, reason: isWhole ? 'stop' : 'length', tokens }
  const before: Piece[] = []
  let length = 0
  for (const piece of kept) {
    if (length >= at) break
    before.push({ text: piece.text.slice(0, at - length), ids: piece.ids })
    length += piece.text.length
  }
  return { pieces: before, reason: 'stop', tokens: before.reduce((sum, piece) => sum + piece.ids.length, 0) }
}

/** Without banned tokens, or nothing but the token that is asked for above all. A bias between −100 and 100 changes nothing. */
export function biased(pieces: Piece[], bias: Readonly<Record<string, number>> | undefined): Piece[] {
  const entries = Object.entries(bias ?? {}).map(([id, weight]) => [Number(id), weight] as const)
  const wanted = entries.find(([id, weight]) => weight >= 100 && isText(id))
  if (wanted !== undefined) return Array.from({ length: WANTED_TIMES }, () => wanted[0]).flatMap((id) => join([id]))
  const banned = new Set(entries.filter(([, weight]) => weight <= -100).map(([id]) => id))
  return banned.size === 0 ? pieces : pieces.filter((piece) => !piece.ids.some((id) => banned.has(id)))
}

/** How often a token with a bias of 100 is repeated where no limit comes first. */
const WANTED_TIMES = 16

function take(pieces: readonly Piece[], limit: number): { kept: Piece[]; tokens: number; isWhole: boolean } {
  let tokens = 0
  const kept: Piece[] = []
  for (const piece of pieces) {
    if (tokens + piece.ids.length > limit) return { kept, tokens: limit, isWhole: false }
    tokens += piece.ids.length
    kept.push(piece)
  }
  return { kept, tokens, isWhole: true }
}

function firstStop(text: string, stop: readonly string[]): number {
  const found = stop.map((sequence) => (sequence === '' ? -1 : text.indexOf(sequence))).filter((at) => at >= 0)
  return found.length === 0 ? -1 : Math.min(...found)
}

function join(ids: readonly number[]): Piece[] {
  const pieces: Piece[] = []
  let pending: Uint8Array[] = []
  let first = 0
  ids.forEach((id, index) => {
    pending.push(tokenBytes(id))
    const bytes = pending.length === 1 ? pending[0]! : Buffer.concat(pending)
    if (!isUtf8(bytes) && index < ids.length - 1) return
    pieces.push({ text: Buffer.from(bytes).toString(), ids: ids.slice(first, index + 1) })
    pending = []
    first = index + 1
  })
  return pieces
}

function isText(id: number): boolean {
  try {
    return isUtf8(tokenBytes(id))
  } catch {
    return false
  }
}
