import { decodeToken, tokenBytes } from '../../platform/tokenizer.ts'
import type { TokenLogprob } from '../chat.ts'
import type { Piece } from './pieces.ts'

type Candidate = { token: string; logprob: number; bytes: number[] }

/** Invented probabilities of a piece's tokens: the token itself first, then less likely ones, all together at most 1. */
export function logprobsOf(piece: Piece, top: number, position: number): TokenLogprob[] {
  return piece.ids.map((id, index) => {
    const share = mix(id, position + index) / 2 ** 32
    const chosen = 0.4 + 0.599 * share
    const own = {
      ...(piece.ids.length === 1 ? wholeToken(piece.text) : partOfCharacter(id)),
      logprob: logarithm(chosen),
    }
    return {
      ...own,
      top_logprobs: top === 0 ? [] : [own, ...others(own.token, id, position + index, { chosen, count: top - 1 })],
    }
  })
}

function wholeToken(token: string): Omit<Candidate, 'logprob'> {
  return { token, bytes: [...Buffer.from(token)] }
}

/** Bytes that are no text by themselves are named as OpenAI names them. */
function partOfCharacter(id: number): Omit<Candidate, 'logprob'> {
  const bytes = [...tokenBytes(id)]
  return { token: `bytes:${bytes.map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')}`, bytes }
}

function others(
  own: string,
  id: number,
  position: number,
  { chosen, count }: { chosen: number; count: number },
): Candidate[] {
  const seen = new Set([own])
  const found: Candidate[] = []
  for (let i = 1; found.length < count; i++) {
    const token = decodeToken(COMMON_FIRST + (mix(id + i, position) % COMMON_COUNT))
    if (seen.has(token) || token.includes('\ufffd')) continue
    seen.add(token)
    found.push({ ...wholeToken(token), logprob: logarithm((1 - chosen) * 0.5 ** (found.length + 1)) })
  }
  return found
}

/** Ids of short everyday tokens. */
const COMMON_FIRST = 256
const COMMON_COUNT = 20_000

function logarithm(probability: number): number {
  return Number(Math.log(probability).toFixed(6))
}

function mix(a: number, b: number): number {
  let mixed = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(b + 1, 0xc2b2ae35)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x27d4eb2f)
  return (mixed ^ (mixed >>> 13)) >>> 0
}
