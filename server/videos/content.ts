import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { BlobMissing } from '../platform/blobs/blobs.ts'
import { ApiError, notFound } from '../platform/errors.ts'
import { type BlobContent, sendBytes } from '../platform/http/send-bytes.ts'
import type { VideoJobRow } from './store.ts'
import type { Variants } from './variants/prepare.ts'
import { FORMS, type StoredVariant, VARIANTS, type Variant } from './variants/variant.ts'

type Call = { request: FastifyRequest; reply: FastifyReply }

/** Throws ApiError `invalid_value` for an unknown one. */
export function readVariant(text: unknown): Variant {
  const variant = VARIANTS.find((known) => known === (text ?? 'video'))
  if (variant) return variant
  const message = `Invalid value: '${String(text).slice(0, 64)}'. Supported values are: 'video', 'thumbnail', and 'spritesheet'.`
  throw new ApiError('invalid_value', message, { param: 'variant' })
}

/** Sends a variant of a completed job, `shown` otherwise where it says so; the console names what it saves. Throws ApiError, `not_found` when it was deleted between the look-up and the first byte. */
export async function sendContent(
  ctx: Context,
  variants: Variants,
  { job, variant, shown = {} }: { job: VideoJobRow; variant: Variant; shown?: Partial<BlobContent> },
  call: Call,
): Promise<unknown> {
  const clip = clipOf(job)
  const { media_type, extension } = FORMS[variant]
  const named = call.request.principal?.via === 'session' ? null : `${job.id}.${extension}`
  const usual = { org_id: job.org_id, media_type, disposition: 'attachment', filename: named } as const
  const send = (stored: StoredVariant) => sendBytes(call, ctx.blobs, { ...usual, ...stored, ...shown })
  try {
    if (variant === 'video') return await send(clip)
    const stored = await variants.find(job, variant)
    // Made again: a restore of an incomplete backup may have lost the bytes.
    return await send(stored).catch(async (error: unknown) => {
      if (!(error instanceof BlobMissing)) throw error
      return send(await variants.replace(job, variant, stored))
    })
  } catch (error) {
    if (error instanceof BlobMissing) throw notFound('video')
    throw error
  }
}

/** The clip of a completed job. Throws ApiError 400 for any other. */
export function clipOf({ status, blob_key, output_sha256, output_size_bytes }: VideoJobRow): StoredVariant {
  if (status !== 'completed' || blob_key === null || output_sha256 === null || output_size_bytes === null) {
    throw new ApiError('invalid_request_error', `This job is ${status}; it has content once it is completed.`)
  }
  return { blob_key, sha256: output_sha256, size_bytes: Number(output_size_bytes) }
}
