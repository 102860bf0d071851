/**
 * What the first bytes of a body are; null while there are none but space. Media types are not believed. `known_blank`: how many of the
 * bytes gave null before.
 */
export function bodyKind(bytes: Buffer, { known_blank }: { known_blank: number }): 'text' | 'page' | 'gzip' | null {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return 'gzip'
  if (bytes[0] === 0xef && bytes.length < 3) return null
  let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? Math.max(3, known_blank) : known_blank
  while (at < bytes.length && bytes[at]! <= SPACE) at++
  const first = bytes[at]
  if (first === undefined) return null
  return first === TAG ? 'page' : 'text'
}

const SPACE = 0x20
const TAG = 0x3c
