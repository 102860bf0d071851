import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileTypeResult } from 'file-type'

export type MediaFamily = 'image' | 'video' | 'audio'

/** `family` is null for what is not an accepted medium: documents, archives, unknown bytes. */
export type RecognizedType = { media_type: string; family: MediaFamily | null }

/** Accepted containers by the media type `file-type` gives them. Source: contract 7. */
const ACCEPTED: Record<string, RecognizedType> = {
  'image/png': { media_type: 'image/png', family: 'image' },
  'image/apng': { media_type: 'image/png', family: 'image' },
  'image/jpeg': { media_type: 'image/jpeg', family: 'image' },
  'image/webp': { media_type: 'image/webp', family: 'image' },
  'image/gif': { media_type: 'image/gif', family: 'image' },
  'video/mp4': { media_type: 'video/mp4', family: 'video' },
  'video/x-m4v': { media_type: 'video/mp4', family: 'video' },
  'video/quicktime': { media_type: 'video/quicktime', family: 'video' },
  'video/webm': { media_type: 'video/webm', family: 'video' },
  'audio/mpeg': { media_type: 'audio/mpeg', family: 'audio' },
  'audio/wav': { media_type: 'audio/wav', family: 'audio' },
  'audio/mp4': { media_type: 'audio/mp4', family: 'audio' },
  'audio/x-m4a': { media_type: 'audio/mp4', family: 'audio' },
  'audio/aac': { media_type: 'audio/aac', family: 'audio' },
  'audio/flac': { media_type: 'audio/flac', family: 'audio' },
  'audio/x-flac': { media_type: 'audio/flac', family: 'audio' },
  'audio/ogg': { media_type: 'audio/ogg', family: 'audio' },
  'application/ogg': { media_type: 'audio/ogg', family: 'audio' },
  'audio/webm': { media_type: 'audio/webm', family: 'audio' },
}

/** The media types of accepted containers. */
export const ACCEPTED_TYPES = [...new Set(Object.values(ACCEPTED).map(({ media_type }) => media_type))]

/** The media type of a file from its bytes alone, never from its name. Unknown bytes are `application/octet-stream`. */
export async function recognizeType(path: string): Promise<RecognizedType> {
  const { fileTypeFromFile } = await fileType()
  const found = await fileTypeFromFile(path).catch(() => undefined)
  if (found) return typeFound(found)
  return (await zerosBeforeMp3(path).catch(() => null)) === null ? typeFound(undefined) : acceptedType('audio/mpeg')
}

/** As `recognizeType`, for bytes in memory. */
export async function recognizeBytes(bytes: Uint8Array): Promise<RecognizedType> {
  const { fileTypeFromBuffer } = await fileType()
  return typeFound(await fileTypeFromBuffer(bytes).catch(() => undefined))
}

/** Most zeros before the first frame of an MP3. */
const ZEROS_MAX = 4000
const ID3_HEADER_BYTES = 10

/**
 * How many zeros some programs have written between the tag of an MP3, or its start, and its first frame; null for another file.
 * Source: https://id3.org/id3v2.4.0-structure, section 3.1, and https://www.iso.org/standard/22412.html, section 2.4.1.3
 */
export async function zerosBeforeMp3(path: string): Promise<number | null> {
  const file = await open(path, 'r')
  try {
    const head = Buffer.alloc(ZEROS_MAX + 4)
    await file.read(head, 0, ID3_HEADER_BYTES, 0)
    const isTagged = head.toString('latin1', 0, 3) === 'ID3'
    const tag = isTagged ? ID3_HEADER_BYTES + head.subarray(6, 10).reduce((size, byte) => size * 128 + byte, 0) : 0
    const { bytesRead } = await file.read(head, 0, head.length, tag)
    const zeros = head.subarray(0, bytesRead).findIndex((byte) => byte !== 0)
    return zeros >= 0 && zeros + 4 <= bytesRead && isFrame(head.readUInt32BE(zeros)) ? zeros : null
  } finally {
    await file.close()
  }
}

/**
 * Whether the header of a WAV announces more sound than the file holds, as of those written while they were sent: the sizes are placeholders
 * such as 0xFFFFFFFF. Players show what is there. False for another file.
 */
export async function announcesTooMuch(path: string): Promise<boolean> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const head = Buffer.alloc(12)
    await file.read(head, 0, 12, 0)
    if (head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 12) !== 'WAVE') return false
    for (let at = 12; at + 8 <= size; ) {
      await file.read(head, 0, 8, at)
      const end = at + 8 + head.readUInt32LE(4)
      if (head.toString('latin1', 0, 4) === 'data') return end > size
      at = end + (end % 2)
    }
    return false
  } finally {
    await file.close()
  }
}

/**
 * Whether an MP4 is somewhere in a picture: phones append the clip of a motion photo.
 * Source: https://developer.android.com/media/platform/motion-photo-format
 */
export async function holdsClip(path: string): Promise<boolean> {
  let end: Buffer = Buffer.alloc(0)
  for await (const chunk of createReadStream(path)) {
    const bytes = Buffer.concat([end, chunk as Buffer])
    if (bytes.includes('ftyp')) return true
    end = bytes.subarray(-3)
  }
  return false
}

/** Layer III, with a bit rate and a sample rate that exist. */
function isFrame(header: number): boolean {
  const [rate, frequency] = [(header >>> 12) & 15, (header >>> 10) & 3]
  const isLayer3 = header >>> 21 === 0x7ff && ((header >>> 19) & 3) !== 1 && ((header >>> 17) & 3) === 1
  return isLayer3 && rate !== 0 && rate !== 15 && frequency !== 3
}

/** Read with the first file, not at the start. */
const fileType = () => import('file-type')

function typeFound(found: FileTypeResult | undefined): RecognizedType {
  return acceptedType(found?.mime.split(';')[0] ?? 'application/octet-stream')
}

/** The accepted type that a media type, in any of its spellings, stands for. */
export function acceptedType(media_type: string): RecognizedType {
  return ACCEPTED[media_type] ?? { media_type, family: null }
}

/** The type of a container that holds sound and no picture, whatever its brand says. */
export function soundTypeOf(media_type: string): string {
  if (media_type === 'video/mp4' || media_type === 'video/quicktime') return 'audio/mp4'
  return media_type === 'video/webm' ? 'audio/webm' : media_type
}

/** How names of files of a type end, the usual ending first. */
const ENDINGS: Record<string, readonly string[]> = {
  'image/png': ['png', 'apng'],
  'image/jpeg': ['jpg', 'jpeg', 'jpe', 'jfif'],
  'image/webp': ['webp'],
  'image/gif': ['gif'],
  'video/mp4': ['mp4', 'm4v'],
  'video/quicktime': ['mov', 'qt'],
  'video/webm': ['webm'],
  'audio/mpeg': ['mp3'],
  'audio/wav': ['wav', 'wave'],
  'audio/mp4': ['m4a', 'm4b'],
  'audio/aac': ['aac'],
  'audio/flac': ['flac'],
  'audio/ogg': ['ogg', 'oga', 'opus'],
  'audio/webm': ['webm', 'weba'],
  'application/pdf': ['pdf'],
}
const MEDIA_ENDINGS: ReadonlySet<string> = new Set(Object.values(ENDINGS).flat())

/** The name with the ending of its type, in place of one of another type: engines and programs go by it. Other types keep their name. */
export function withEnding(name: string, media_type: string): string {
  const endings = ENDINGS[media_type]
  if (endings === undefined) return name
  const ending = /\.([A-Za-z0-9]{2,4})$/.exec(name)?.[1]?.toLowerCase() ?? ''
  if (endings.includes(ending)) return name
  const base = MEDIA_ENDINGS.has(ending) ? name.slice(0, -ending.length - 1) : name
  return `${base === '' ? 'file' : base}.${endings[0]}`
}
