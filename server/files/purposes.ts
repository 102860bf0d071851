import type { MediaFamily, RecognizedType } from '../media/probe/recognize.ts'
import { ApiError } from '../platform/errors.ts'

/** What a file is for. The first three are media, recognized by their bytes; the rest are documents of any kind. */
export const PURPOSES = ['vision', 'video', 'audio', 'user_data', 'assistants', 'batch', 'fine-tune', 'evals'] as const
export type Purpose = (typeof PURPOSES)[number]

/**
 * Throws ApiError `invalid_file` when the bytes are not what a media purpose takes. Documents may be anything.
 * Source: docs/api/files.md, purposes.
 */
export function requireFitting(purpose: Purpose, type: RecognizedType): void {
  const medium = MEDIA[purpose]
  if (!medium || medium.family === type.family) return
  const isUnknown = type.media_type === 'application/octet-stream'
  const isSoundAlone = purpose === 'video' && type.family === 'audio'
  const seen = isUnknown
    ? 'not a recognized type'
    : `recognized as ${type.media_type}${isSoundAlone ? ', sound without a picture' : ''}`
  throw new ApiError(
    'invalid_file',
    `Invalid file: purpose '${purpose}' takes ${medium.formats}, but the content of this file is ${seen}. ` +
      'Convert the file or choose the purpose that fits it.',
    { param: 'file' },
  )
}

/** The family of media that a purpose takes; null for one that takes documents. */
export function familyOfPurpose(purpose: Purpose): MediaFamily | null {
  return MEDIA[purpose]?.family ?? null
}

const MEDIA: Partial<Record<Purpose, { family: MediaFamily; formats: string }>> = {
  vision: { family: 'image', formats: 'PNG, JPEG, WebP or GIF' },
  video: { family: 'video', formats: 'MP4, MOV or WebM' },
  audio: { family: 'audio', formats: 'MP3, WAV, M4A, AAC, FLAC or OGG, or MP4, MOV or WebM without a picture' },
}
