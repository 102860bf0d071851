import { isRecord } from '../../../platform/json/record.ts'
import { plainWord } from '../../error-words.ts'
import { NOT_A_CLIP } from './clip-url.ts'

/** Enough to recognize a container. */
export const HEAD_BYTES = 16

/** MP4 and QuickTime, WebM and Matroska, AVI, Ogg, FLV, MPEG. What is none of them is left to the probe, unless it reads as text. */
export function isClip(head: Buffer): boolean {
  const text = head.toString('latin1')
  if (/^.{4}(ftyp|moov|mdat|free|skip|wide|uuid)/s.test(text)) return true
  return /^(\x1aE\xdf\xa3|RIFF.{4}AVI |OggS|FLV|\x00\x00\x01[\xb3\xba])/s.test(text)
}

/**
 * The clip that a reply holds itself, as base64 or a `data:` URL: Google's `encodedVideo` and `bytesBase64Encoded`, a gateway's `b64_json`.
 * Recognized by its first bytes, whatever its member is called; null when there is none.
 */
export function clipInside(reply: unknown, depth = 0): Buffer | null {
  if (typeof reply === 'string') return decoded(reply)
  if (depth > DEPTH_MAX || typeof reply !== 'object' || reply === null) return null
  for (const [name, value] of Object.entries(reply)) {
    if (isRecord(reply) && NOT_A_CLIP.test(plainWord(name))) continue
    const clip = clipInside(value, depth + 1)
    if (clip !== null) return clip
  }
  return null
}

const DEPTH_MAX = 8
/** The base64 of HEAD_BYTES and some more. */
const HEAD_CHARACTERS = 24

function decoded(text: string): Buffer | null {
  const from = /^\s*data:[^,]{0,100};base64,/i.exec(text)?.[0].length ?? 0
  const head = text.slice(from, from + HEAD_CHARACTERS)
  if (!/^[\w+/-]{24}$/.test(head) || !isClip(Buffer.from(head, 'base64'))) return null
  return Buffer.from(text.slice(from), 'base64')
}
