import { createReadStream } from 'node:fs'
import type { Context } from '../context.ts'
import { createFile } from '../files/create.ts'
import { removeBlobs } from '../files/retention.ts'
import { deleteFile, type FileRow, findFile } from '../files/store/files.ts'
import type { Principal } from '../identity/caller/principal.ts'
import { withLastFrame } from '../media/frames/last-frame.ts'
import { BlobMissing, BlobTooLarge, type StagedBlob } from '../platform/blobs/blobs.ts'
import { ApiError, notFound } from '../platform/errors.ts'
import { failpoint } from '../platform/failpoint.ts'
import { lastFrameName } from './archive/clip-name.ts'
import { findArchivedJobs } from './archive/store.ts'
import { clipOf } from './content.ts'
import type { Gates } from './create/create.ts'
import { FRAME_BYTES_MAX } from './create/frame.ts'
import { findJob, keepLastFrame, type VideoJobRow } from './store.ts'
import { pictureProblem } from './variants/prepare.ts'

type Wanted = { id: string; signal: AbortSignal }

/**
 * The last frame of a completed clip as a file with which another job can begin: the file that the first caller was given for as long as it
 * lives, else a new one of this caller. `signal` ends the work. Throws ApiError: `not_found` for no such job, and for a clip of which no picture
 * can be made; 400 for a job that is not completed; `conflict` where the file of another request was deleted meanwhile; 402, 413 and 429 as an upload.
 */
export async function lastFrameFile(
  ctx: Context,
  { storage }: Pick<Gates, 'storage'>,
  principal: Principal,
  { id, signal }: Wanted,
): Promise<FileRow> {
  const { org_id } = principal
  const job = await requireJob(ctx, org_id, id)
  clipOf(job)
  const known = await fileOf(ctx, job)
  if (known) return known
  const receiving = await storage.admitUpload(ctx.config, principal, { least: 1, most: FRAME_BYTES_MAX })
  try {
    const [clip] = await findArchivedJobs(ctx.db, org_id, [id])
    if (!clip) throw notFound('video')
    const filename = lastFrameName(clip)
    const staged = await drawFrame(ctx, job, signal)
    const file = await createFile(ctx, principal, { staged, filename, fields: { purpose: 'vision' } }, signal)
    failpoint('last_frame_created')
    return (await keepLastFrame(ctx.db, job, file.id)) ? file : await keepOthers(ctx, job, file)
  } finally {
    receiving.end()
  }
}

async function drawFrame(ctx: Context, job: VideoJobRow, signal: AbortSignal): Promise<StagedBlob> {
  const { blobs, work_dir } = ctx
  const limits = { max_bytes: FRAME_BYTES_MAX, signal }
  try {
    return await blobs.withLocalFile(job.blob_key!, (clip) =>
      withLastFrame(clip, { owner: job.org_id, signal, work_dir }, (picture) =>
        blobs.stage(createReadStream(picture), limits),
      ),
    )
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof BlobMissing) throw notFound('video')
    if (error instanceof BlobTooLarge) {
      const text = `The last frame of this video has more than ${FRAME_BYTES_MAX} bytes as a picture, which is more than a first frame may have.`
      throw new ApiError('invalid_request_error', text)
    }
    if (!(error instanceof ApiError)) ctx.log.warn('last_frame_failed', { video_id: job.id, error })
    throw pictureProblem(error, 'last frame')
  }
}

/** Another request was first, or the job is gone: the file made here has no use. */
async function keepOthers(ctx: Context, { org_id, id }: VideoJobRow, file: FileRow): Promise<FileRow> {
  await removeBlobs(ctx, await deleteFile(ctx.db, { org_id, id: file.id, now: ctx.clock.now() }))
  const others = await fileOf(ctx, await requireJob(ctx, org_id, id))
  if (!others) {
    const text = 'The file of the last frame was deleted while it was made. Send the request again to make a new one.'
    throw new ApiError('conflict', text)
  }
  return others
}

async function requireJob({ db }: Context, org_id: string, id: string): Promise<VideoJobRow> {
  const job = await findJob(db, org_id, id)
  if (!job) throw notFound('video')
  return job
}

async function fileOf(
  { db, clock }: Context,
  { org_id, last_frame_file_id: id }: VideoJobRow,
): Promise<FileRow | null> {
  return id === null ? null : findFile(db, { org_id, id, now: clock.now() })
}
