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
}

/** The media type of a file from its bytes alone, never from its name. Unknown bytes are `application/octet-stream`. */
export async function recognizeType(path: string): Promise<RecognizedType> {
  const { fileTypeFromFile } = await fileType()
  return typeFound(await fileTypeFromFile(path).catch(() => undefined))
}

/** As `recognizeType`, for bytes in memory. */
export async function recognizeBytes(bytes: Uint8Array): Promise<RecognizedType> {
  const { fileTypeFromBuffer } = await fileType()
  return typeFound(await fileTypeFromBuffer(bytes).catch(() => undefined))
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
