export type PictureSize = { format: 'PNG' | 'GIF' | 'WebP' | 'JPEG'; width: number; height: number }

/** Characters of base64 in which a size is looked for: enough for the tables a camera writes before a JPEG says it. */
const HEADER_CHARACTERS = 131_072

/** Pixels of the picture in a `data:` URL, by its header alone. Null for another URL or picture, and for one cut before its size. */
export function pictureSize(url: string): PictureSize | null {
  const start = /^data:image\/[\w.+-]{1,40};base64,/.exec(url.slice(0, 80))?.[0]
  if (start === undefined) return null
  const bytes = Buffer.from(url.slice(start.length, start.length + HEADER_CHARACTERS), 'base64')
  if (bytes.length >= 24 && bytes.toString('latin1', 1, 4) === 'PNG')
    return { format: 'PNG', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  if (bytes.length >= 10 && bytes.toString('latin1', 0, 4) === 'GIF8')
    return { format: 'GIF', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
  if (bytes.length >= 30 && bytes.toString('latin1', 8, 12) === 'WEBP') return { format: 'WebP', ...webp(bytes) }
  return bytes.length >= 4 && bytes.readUInt16BE(0) === 0xffd8 ? jpeg(bytes) : null
}

/** Source: https://developers.google.com/speed/webp/docs/riff_container */
function webp(bytes: Buffer): { width: number; height: number } {
  const kind = bytes.toString('latin1', 12, 16)
  if (kind === 'VP8X') return { width: 1 + bytes.readUIntLE(24, 3), height: 1 + bytes.readUIntLE(27, 3) }
  const bits = bytes.readUInt32LE(21)
  if (kind === 'VP8L') return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) }
  return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
}

/** Walks the segments up to the one that holds the frame size. */
function jpeg(bytes: Buffer): PictureSize | null {
  for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1]!
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { format: 'JPEG', width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    at += 2 + Math.max(2, bytes.readUInt16BE(at + 2))
  }
  return null
}
