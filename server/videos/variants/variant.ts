/** The forms in which a finished clip can be downloaded: the clip itself, and two pictures made from it. Source: contract 5.5. */
export const VARIANTS = ['video', 'thumbnail', 'spritesheet'] as const
export type Variant = (typeof VARIANTS)[number]

export const PREPARED_VARIANTS = ['thumbnail', 'spritesheet'] as const
/** A variant that is made from the clip. */
export type PreparedVariant = (typeof PREPARED_VARIANTS)[number]

export const FORMS: Readonly<Record<Variant, { media_type: string; extension: string }>> = {
  video: { media_type: 'video/mp4', extension: 'mp4' },
  thumbnail: { media_type: 'image/webp', extension: 'webp' },
  spritesheet: { media_type: 'image/jpeg', extension: 'jpg' },
}

export type StoredVariant = { blob_key: string; sha256: string; size_bytes: number }
export type StoredVariants = Readonly<Record<PreparedVariant, StoredVariant>>

/** Of a job: all null, or none. */
export type VariantColumns = {
  thumbnail_key: string | null
  thumbnail_sha256: string | null
  thumbnail_size_bytes: number | null
  spritesheet_key: string | null
  spritesheet_sha256: string | null
  spritesheet_size_bytes: number | null
}

export const NO_VARIANTS: VariantColumns = {
  thumbnail_key: null,
  thumbnail_sha256: null,
  thumbnail_size_bytes: null,
  spritesheet_key: null,
  spritesheet_sha256: null,
  spritesheet_size_bytes: null,
}

/** Null until they are made. */
export function storedVariants(job: VariantColumns): StoredVariants | null {
  if (job.thumbnail_key === null) return null
  return {
    thumbnail: {
      blob_key: job.thumbnail_key,
      sha256: job.thumbnail_sha256!,
      size_bytes: job.thumbnail_size_bytes!,
    },
    spritesheet: {
      blob_key: job.spritesheet_key!,
      sha256: job.spritesheet_sha256!,
      size_bytes: job.spritesheet_size_bytes!,
    },
  }
}

export function variantColumns({ thumbnail, spritesheet }: StoredVariants): VariantColumns {
  return {
    thumbnail_key: thumbnail.blob_key,
    thumbnail_sha256: thumbnail.sha256,
    thumbnail_size_bytes: thumbnail.size_bytes,
    spritesheet_key: spritesheet.blob_key,
    spritesheet_sha256: spritesheet.sha256,
    spritesheet_size_bytes: spritesheet.size_bytes,
  }
}
