import { turnTaker } from '../../platform/turns.ts'
import { BYTES_MAX, type PartKind, type PartSource, refuse } from './source.ts'

/** Content of the request itself. `base64` is the text of `bytes`; `declared` the media type of its data URL. */
export type Inline = { bytes: Buffer; base64: string; declared: string | null }

export function isDataUrl(text: string): boolean {
  return /^data:/i.test(text)
}

/** The content of a data URL: base64 alone, of a declared type. Rejects with ApiError 400. */
export async function readDataUrl(source: PartSource, url: string, kind?: PartKind): Promise<Inline> {
  const comma = url.slice(0, HEAD_MAX).indexOf(',')
  const head = comma < 0 ? null : HEAD.exec(url.slice(0, comma))
  if (!head) throw refuse(source, "a data URL has the form 'data:<media type>;base64,<data>'.")
  return { ...(await readBase64(source, url.slice(comma + 1), kind)), declared: head[1]!.toLowerCase() }
}

/**
 * The content of strict base64: standard alphabet and padding, nothing else. The size is checked before decoding; long text is decoded in
 * slices that let other work run. Rejects with ApiError 400.
 */
export async function readBase64(source: PartSource, base64: string, kind?: PartKind): Promise<Inline> {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  const size_bytes = (base64.length / 4) * 3 - padding
  const max = kind ? BYTES_MAX[kind] : LARGEST
  if (size_bytes > max) throw refuse(source, tooLarge(max))
  const bytes = size_bytes > 0 && Number.isInteger(size_bytes) ? await decode(base64, size_bytes) : null
  if (bytes === null) {
    throw refuse(source, 'it is not valid base64. Use the standard alphabet with padding and no line breaks.')
  }
  return { bytes, base64, declared: null }
}

/** Null for text that is not entirely base64. */
async function decode(base64: string, size_bytes: number): Promise<Buffer | null> {
  const bytes = Buffer.allocUnsafeSlow(size_bytes)
  const turn = turnTaker(1)
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
/** Type and parameters of a data URL, such as `data:text/plain;charset=utf-8;base64`. */
const HEAD = /^data:([a-z0-9][a-z0-9.+-]*\/[a-z0-9][a-z0-9.+-]*)(?:;[a-z0-9-]+=[^;,]*)*;base64$/i
const LARGEST = Math.max(...Object.values(BYTES_MAX))
