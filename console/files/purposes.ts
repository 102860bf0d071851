import type { Purpose } from '../api/upload.ts'

/** What may be chosen before an upload: a purpose, or that of each file by its kind. */
export type PurposeChoice = (typeof OFFERED)[number] | 'auto'

export const PURPOSES: readonly Purpose[] = [
  'vision',
  'video',
  'audio',
  'user_data',
  'assistants',
  'batch',
  'fine-tune',
  'evals',
]

/** What a person may upload for: each serves something here. Others are for clients that name them. */
export const OFFERED = ['vision', 'video', 'audio', 'user_data'] as const satisfies readonly Purpose[]

/** The largest file. Source: docs/api/files.md, Create. */
export const BYTES_MAX = 100_000_000
type MediaPurpose = 'vision' | 'video' | 'audio'

/** Endings and media types of what each purpose takes; the service looks at the bytes. Source: docs/api/files.md, Purposes. */
const MEDIA: Readonly<Record<MediaPurpose, { endings: readonly string[]; types: RegExp }>> = {
  vision: { endings: ['png', 'jpg', 'jpeg', 'webp', 'gif'], types: /^image\/(png|jpeg|webp|gif)$/ },
  video: { endings: ['mp4', 'm4v', 'mov', 'webm'], types: /^video\/(mp4|x-m4v|quicktime|webm)$/ },
  audio: {
    endings: ['mp3', 'wav', 'm4a', 'aac', 'flac', 'ogg', 'oga'],
    types: /^audio\/(mpeg|mp3|wav|wave|x-wav|mp4|m4a|x-m4a|aac|flac|x-flac|ogg)$/,
  },
}
const MEDIA_PURPOSES = ['vision', 'video', 'audio'] as const

export function isMedia(purpose: Purpose | 'auto'): purpose is MediaPurpose {
  return purpose in MEDIA
}

/** For the `accept` of a file input; nothing where any file will do. */
export function acceptOf(choice: PurposeChoice): string | undefined {
  return isMedia(choice) ? MEDIA[choice].endings.map((ending) => `.${ending}`).join(',') : undefined
}

/** The purpose a file gets by its kind: what is neither image, video nor audio is a document. */
export function purposeOf(file: { name: string; type: string }): Purpose {
  return MEDIA_PURPOSES.find((purpose) => looksLike(purpose, file)) ?? 'user_data'
}

/** Why a file cannot be uploaded. */
export type Mistake = 'empty' | 'too_large' | 'wrong_kind' | 'too_many_pixels'

/** What is wrong with a file before any byte is sent; null when nothing can be seen. */
export function mistakeOf(file: { name: string; type: string; size: number }, purpose: Purpose): Mistake | null {
  if (file.size === 0) return 'empty'
  if (file.size > BYTES_MAX) return 'too_large'
  return isMedia(purpose) && !looksLike(purpose, file) ? 'wrong_kind' : null
}

/** By the type the system gives it, or else by its name; what has neither may be anything. */
function looksLike(purpose: MediaPurpose, { name, type }: { name: string; type: string }): boolean {
  const { endings, types } = MEDIA[purpose]
  if (types.test(type)) return true
  const ending = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase()
  return ending !== undefined && endings.includes(ending)
}
