import type { ChatPart } from '../chat.ts'

/** What a picture says about itself in its first bytes; null where it does not say. */
export type Picture = { format: string; width: number | null; height: number | null }

/** Says in words which pictures, clips and sounds came with a message, as in `1 image (PNG, 64×48)`; null when none did. */
export function describeMedia(parts: readonly ChatPart[], japanese: boolean): string | null {
  const images = parts.flatMap((part) => (part.type === 'image_url' ? [picturesFacts(part.image_url.url)] : []))
  const videos = parts.filter((part) => part.type === 'video_url').length
  const sounds = parts.flatMap((part) => {
    if (part.type === 'input_audio') return [part.input_audio.format.toUpperCase()]
    return part.type === 'audio_url' ? [''] : []
  })
  const groups = [
    group(images.length, images, japanese ? ['枚の画像', '枚の画像'] : [' image', ' images']),
    group(videos, [], japanese ? ['本の動画', '本の動画'] : [' video', ' videos']),
    group(sounds.length, sounds, japanese ? ['件の音声', '件の音声'] : [' audio clip', ' audio clips']),
  ].filter((words) => words !== null)
  if (groups.length === 0) return null
  return japanese ? groups.join('と') : groups.join(groups.length > 2 ? ', ' : ' and ')
}

/** Reads PNG, GIF, WebP and JPEG headers of a `data:` URL; null for another kind of URL or picture. */
export function pictureOf(url: string): Picture | null {
  const start = /^data:image\/[\w.+-]{1,40};base64,/.exec(url.slice(0, 80))?.[0]
  if (start === undefined) return null
  const bytes = Buffer.from(url.slice(start.length, start.length + HEADER_CHARACTERS), 'base64')
  if (bytes.length >= 24 && bytes.toString('latin1', 1, 4) === 'PNG')
    return { format: 'PNG', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  if (bytes.length >= 10 && bytes.toString('latin1', 0, 4) === 'GIF8')
    return { format: 'GIF', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
  if (bytes.length >= 30 && bytes.toString('latin1', 8, 12) === 'WEBP') return webp(bytes)
  if (bytes.length >= 4 && bytes.readUInt16BE(0) === 0xffd8) return jpeg(bytes)
  return null
}

/** Enough for the tables a camera writes before a JPEG says its size. */
const HEADER_CHARACTERS = 131_072

function picturesFacts(url: string): string {
  const picture = pictureOf(url)
  if (picture === null) return ''
  const { format, width, height } = picture
  return width === null || height === null ? format : `${format}, ${width}×${height}`
}

function group(count: number, facts: string[], [one, many]: [string, string] | string[]): string | null {
  if (count === 0) return null
  const known = facts.filter((fact) => fact !== '').slice(0, 4)
  return `${count}${count === 1 ? one : many}${known.length === 0 ? '' : ` (${known.join('; ')})`}`
}

function webp(bytes: Buffer): Picture {
  const kind = bytes.toString('latin1', 12, 16)
  if (kind === 'VP8X')
    return { format: 'WebP', width: 1 + bytes.readUIntLE(24, 3), height: 1 + bytes.readUIntLE(27, 3) }
  if (kind === 'VP8L') {
    const bits = bytes.readUInt32LE(21)
    return { format: 'WebP', width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) }
  }
  return { format: 'WebP', width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
}

/** Walks the segments up to the one that holds the frame size. */
function jpeg(bytes: Buffer): Picture {
  for (let at = 2; at + 9 < bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1]!
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { format: 'JPEG', width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    at += 2 + Math.max(2, bytes.readUInt16BE(at + 2))
  }
  return { format: 'JPEG', width: null, height: null }
}
