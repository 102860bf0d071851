import { turnTaker } from '../../platform/turns.ts'
import { BYTES_MAX, type PartKind, type PartSource, refuse } from './source.ts'

/** `kind`: what it must be. `signal`: see `nextTurn`. */
export type InlineOptions = { kind?: PartKind; signal?: AbortSignal }

/** Content of the request itself. `base64` is the text of `bytes`. */
export type Inline = { bytes: Buffer; base64: string }

export function isDataUrl(text: string): boolean {
  return /^data:/i.test(text)
}

/** Whether the text may be base64 without a data URL around it: no address looks like this. */
export function isBareBase64(text: string): boolean {
  return /^[\w+/\s-]{32,64}={0,2}\s*$/.test(text.slice(0, 64))
}

/** The content of a data URL: base64 alone. Its media type may be missing or wrong, since the bytes decide. Rejects with ApiError 400. */
export async function readDataUrl(source: PartSource, url: string, reading?: InlineOptions): Promise<Inline> {
  const comma = url.slice(0, HEAD_MAX).indexOf(',')
  if (comma < 0 || !HEAD.test(url.slice(0, comma)))
    throw refuse(source, "a data URL has the form 'data:<media type>;base64,<data>'.")
  return readBase64(source, url.slice(comma + 1), reading)
}

/**
 * The content of base64, in the standard alphabet or that of URLs, with or without padding and line breaks. The size is checked before
 * decoding; long text is decoded in slices that let other work run. Rejects with ApiError 400.
 */
export async function readBase64(
  source: PartSource,
  text: string,
  { kind, signal }: InlineOptions = {},
): Promise<Inline> {
  const max = kind ? BYTES_MAX[kind] : LARGEST
  if (sizeOf(text) > max * WITH_BREAKS) throw refuse(source, tooLarge(max))
  const first = await decode(text, signal)
  const base64 = first ? text : await standard(text, signal)
  const bytes = first ?? (await decode(base64, signal))
  if (bytes === null) throw refuse(source, 'it is not valid base64.')
  if (bytes.length > max) throw refuse(source, tooLarge(max))
  return { bytes, base64 }
}

/** Line breaks after every 76 characters, or 64, make base64 longer by up to a thirtieth. */
const WITH_BREAKS = 1.05

/** Size of what the text decodes to, when all of it is base64. */
function sizeOf(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return (base64.length / 4) * 3 - padding
}

/** The same in the standard alphabet, with padding and without line breaks. */
async function standard(text: string, signal: AbortSignal | undefined): Promise<string> {
  const slices: string[] = []
  const turn = turnTaker(1, signal)
  for (let from = 0; from < text.length; from += SLICE_CHARACTERS) {
    const slice = text.slice(from, from + SLICE_CHARACTERS)
    slices.push(slice.replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/'))
    const other = turn()
    if (other) await other
  }
  const base64 = slices.join('').replace(/={1,2}$/, '')
  return base64.padEnd(Math.ceil(base64.length / 4) * 4, '=')
}

/** Null for text that is not entirely base64. */
async function decode(base64: string, signal: AbortSignal | undefined): Promise<Buffer | null> {
  const size_bytes = sizeOf(base64)
  if (size_bytes <= 0 || !Number.isInteger(size_bytes)) return null
  const bytes = Buffer.allocUnsafeSlow(size_bytes)
  const turn = turnTaker(1, signal)
  for (let from = 0; from < base64.length; from += SLICE_CHARACTERS) {
    const slice = base64.slice(from, from + SLICE_CHARACTERS)
    const at = (from / 4) * 3
    const wanted = Math.min((slice.length / 4) * 3, size_bytes - at)
    // Node skips characters that are not base64, which shows in the length, but accepts the URL-safe alphabet.
    if (bytes.write(slice, at, 'base64') !== wanted || slice.includes('-') || slice.includes('_')) return null
    const other = turn()
    if (other) await other
  }
  return bytes
}

/** A multiple of four, decoded in about a millisecond. */
const SLICE_CHARACTERS = 1024 * 1024

export function tooLarge(max: number): string {
  return `it is larger than ${max} bytes. Send a smaller one, or upload it and refer to it by file_id.`
}

const HEAD_MAX = 256
/** What precedes the comma, such as `data:text/plain;charset=utf-8;base64`. */
const HEAD = /^data:[^,]*;\s*base64\s*$/i
const LARGEST = Math.max(...Object.values(BYTES_MAX))
