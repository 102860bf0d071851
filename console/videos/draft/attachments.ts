import type { StoredFile } from '../../api/upload.ts'

/** What a file of a request is used as. */
export type Slot = 'first_frame' | 'last_frame' | 'images' | 'videos' | 'audio'
export const SLOTS: readonly Slot[] = ['first_frame', 'last_frame', 'images', 'videos', 'audio']

export type SlotRule = {
  purpose: 'vision' | 'video' | 'audio'
  count_max: number
  /** Largest file accepted. Frames must be under 30 MiB, the others at most their limit. */
  bytes_max: number
  /** Shortest and longest duration of a video or audio file. */
  seconds: readonly [number, number] | null
  /** How a file is recognized before it is sent; the service checks its bytes. */
  types: ReadonlyArray<readonly [ending: string, type: string]>
  formats: readonly string[]
}

const IMAGE = {
  purpose: 'vision',
  seconds: null,
  types: [
    ['png', 'image/png'],
    ['jpg', 'image/jpeg'],
    ['jpeg', 'image/jpeg'],
    ['webp', 'image/webp'],
    ['gif', 'image/gif'],
  ],
  formats: ['PNG', 'JPEG', 'WebP', 'GIF'],
} as const
const MIB = 1_048_576

/** What each slot accepts. Source: docs/api/videos.md, Create; docs/api/files.md, purposes. */
export const RULES: Readonly<Record<Slot, SlotRule>> = {
  first_frame: { ...IMAGE, count_max: 1, bytes_max: 30 * MIB - 1 },
  last_frame: { ...IMAGE, count_max: 1, bytes_max: 30 * MIB - 1 },
  images: { ...IMAGE, count_max: 8, bytes_max: 30 * MIB },
  videos: {
    purpose: 'video',
    count_max: 2,
    bytes_max: 50 * MIB,
    seconds: [2, 15],
    types: [
      ['mp4', 'video/mp4'],
      ['m4v', 'video/x-m4v'],
      ['mov', 'video/quicktime'],
      ['webm', 'video/webm'],
    ],
    formats: ['MP4', 'MOV', 'WebM'],
  },
  audio: {
    purpose: 'audio',
    count_max: 3,
    bytes_max: 15 * MIB,
    seconds: [2, 15],
    types: [
      ['mp3', 'audio/mpeg'],
      ['wav', 'audio/wav'],
      ['wav', 'audio/x-wav'],
      ['m4a', 'audio/mp4'],
      ['m4a', 'audio/x-m4a'],
      ['aac', 'audio/aac'],
      ['flac', 'audio/flac'],
      ['flac', 'audio/x-flac'],
      ['ogg', 'audio/ogg'],
      ['oga', 'audio/ogg'],
    ],
    formats: ['MP3', 'WAV', 'M4A', 'AAC', 'FLAC', 'OGG'],
  },
}

/** For the `accept` of a file input. */
export function acceptOf(slot: Slot): string {
  const { types } = RULES[slot]
  return [...new Set(types.flatMap(([ending, type]) => [`.${ending}`, type]))].join(',')
}

/** A file of a draft: uploading, stored, or refused with a reason. */
export type Attachment = {
  key: string
  filename: string
  bytes: number
  /** Set once it is stored. */
  file_id: string | null
  /** Upload progress, 0 to 1; null while the file is being checked. */
  share: number | null
  problem: Problem | null
}

export type Problem =
  | { code: 'type' | 'size' | 'empty' | 'duration' | 'gone' | 'refused' }
  | { code: 'upload'; error: unknown }

export type KnownFile = Pick<StoredFile, 'id' | 'filename' | 'bytes'>

export function storedAttachment({ id, filename, bytes }: KnownFile): Attachment {
  return { key: id, filename, bytes, file_id: id, share: 1, problem: null }
}

/** Whether it may be sent with a request. */
export function isReady({ file_id, problem }: Attachment): boolean {
  return file_id !== null && problem === null
}

/** What is wrong with a file for this slot, by its name and size; null when nothing is. */
export function problemOf(slot: Slot, file: { name: string; type: string; size: number }): Problem | null {
  const { types, bytes_max } = RULES[slot]
  if (file.size === 0) return { code: 'empty' }
  if (!types.some(([ending, type]) => file.type === type || endingOf(file.name) === ending)) return { code: 'type' }
  return file.size > bytes_max ? { code: 'size' } : null
}

/** The problem of a video or audio file that is too short or too long; the service checks unknown durations. */
export function durationProblem(slot: Slot, seconds: number | null): Problem | null {
  const range = RULES[slot].seconds
  if (range === null || seconds === null) return null
  // Headers round: a video of 15 s may read as 15.04.
  return seconds < range[0] - SLACK || seconds > range[1] + SLACK ? { code: 'duration' } : null
}

const SLACK = 0.05

/** The reference slot that accepts this file; null for none. */
export function slotFor(file: { name: string; type: string }): 'images' | 'videos' | 'audio' | null {
  const fits = (slot: 'images' | 'videos' | 'audio') =>
    RULES[slot].types.some(([ending, type]) => (file.type ? file.type === type : endingOf(file.name) === ending))
  return fits('images') ? 'images' : fits('videos') ? 'videos' : fits('audio') ? 'audio' : null
}

function endingOf(name: string): string {
  return /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
}

/** Duration of a video or audio file in seconds; null when this browser cannot read it. */
export function durationOf(file: File, kind: 'video' | 'audio'): Promise<number | null> {
  const url = URL.createObjectURL(file)
  const media = document.createElement(kind)
  return new Promise<number | null>((resolve) => {
    media.preload = 'metadata'
    media.onloadedmetadata = () => resolve(Number.isFinite(media.duration) ? media.duration : null)
    media.onerror = () => resolve(null)
    media.src = url
  }).finally(() => {
    media.removeAttribute('src')
    URL.revokeObjectURL(url)
  })
}
