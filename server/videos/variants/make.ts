import { createReadStream } from 'node:fs'
import type { Context } from '../../context.ts'
import { makeVariants, type VariantFiles } from '../../media/frames/variants.ts'
import { withScratch } from '../../media/scratch.ts'
import { BlobMissing, type StoredBlob } from '../../platform/blobs/blobs.ts'
import { removeUnneeded } from '../../platform/blobs/remove.ts'
import { isDatabaseDown } from '../../platform/db/db.ts'
import { notFound } from '../../platform/errors.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { findJob, type VideoJobRow } from '../store.ts'
import { saveVariants } from './store.ts'
import { PREPARED_VARIANTS, type StoredVariant, type StoredVariants, storedVariants } from './variant.ts'

export type MakeContext = Pick<Context, 'db' | 'blobs' | 'work_dir'>

/** Neither is ever larger than a megabyte or two. */
const VARIANT_BYTES_MAX = 16 * 1024 * 1024

/**
 * Makes and stores thumbnail and spritesheet of a completed job, both or neither, unless it has them by now. Bytes come first and the
 * row last: what a crash leaves between is swept as an orphan, and made again when it is asked for.
 * Throws ApiError `not_found` when job or clip is gone; ProbeError, FfmpegError, ChildrenBusy, DiskFull or the signal's reason.
 */
export async function makeAndStore(
  ctx: MakeContext,
  { org_id, id }: Pick<VideoJobRow, 'org_id' | 'id'>,
  signal: AbortSignal,
): Promise<StoredVariants> {
  const job = await findJob(ctx.db, org_id, id)
  if (!job || job.blob_key === null) throw notFound('video')
  const known = storedVariants(job)
  if (known) return known
  const made = await withScratch(ctx.work_dir, async (dir) => {
    const { seconds, blob_key } = job
    const files = await ctx.blobs
      .withLocalFile(blob_key!, (clip) => makeVariants(clip, { seconds, dir, owner: org_id, signal }))
      .catch((error: unknown) => {
        throw error instanceof BlobMissing ? notFound('video') : error
      })
    return publishBoth(ctx, files, signal)
  })
  return (await save(ctx, job, made)) ? made : keepOthers(ctx, job, made)
}

async function publishBoth(ctx: MakeContext, files: VariantFiles, signal: AbortSignal): Promise<StoredVariants> {
  const published: StoredBlob[] = []
  try {
    for (const variant of PREPARED_VARIANTS) {
      const limits = { max_bytes: VARIANT_BYTES_MAX, signal }
      published.push(await ctx.blobs.write(createReadStream(files[variant]), limits))
      failpoint(`${variant}_published`)
    }
  } catch (error) {
    await removeUnneeded(
      ctx.blobs,
      published.map(({ key }) => key),
    )
    throw error
  }
  const [thumbnail, spritesheet] = published.map(({ key, ...facts }): StoredVariant => ({ blob_key: key, ...facts }))
  return { thumbnail: thumbnail!, spritesheet: spritesheet! }
}

async function save(ctx: MakeContext, job: VideoJobRow, made: StoredVariants): Promise<boolean> {
  try {
    const saved = await saveVariants(ctx.db, job, made)
    failpoint('variants_saved')
    return saved
  } catch (error) {
    // A database that is down may have written the row.
    if (!isDatabaseDown(error)) await removeBoth(ctx, made)
    throw error
  }
}

/** Drops what was made for a job that is gone, or that has what another process made. */
async function keepOthers(
  ctx: MakeContext,
  { org_id, id }: VideoJobRow,
  made: StoredVariants,
): Promise<StoredVariants> {
  await removeBoth(ctx, made)
  const job = await findJob(ctx.db, org_id, id)
  const others = job && storedVariants(job)
  if (!others) throw notFound('video')
  return others
}

export async function removeBoth(ctx: Pick<Context, 'blobs'>, stored: StoredVariants): Promise<void> {
  await removeUnneeded(
    ctx.blobs,
    PREPARED_VARIANTS.map((variant) => stored[variant].blob_key),
  )
}
