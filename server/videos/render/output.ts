import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { Context } from '../../context.ts'
import type { JsonValue, VideoEngine } from '../../engines/video/contract.ts'
import { mendOutput } from '../../media/mend.ts'
import { ProbeError } from '../../media/probe/probe.ts'
import { BlobTooLarge, type StagedBlob } from '../../platform/blobs/blobs.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { isMediaFault } from '../inputs.ts'
import type { Outcome } from '../job.ts'
import { judgeOutput } from '../moderation/output.ts'
import { keepPolling } from '../pipeline/retry.ts'
import { withTimeLimit } from '../pipeline/time-limit.ts'
import type { VideoJobRow } from '../store.ts'

/** 15 seconds at 768p are some tens of megabytes. */
const OUTPUT_BYTES_MAX = 1024 * 1024 * 1024
/** The picture may be a little shorter than what was asked for, however long the sound is: engines render whole groups of frames. Source: docs/states.md. */
const LENGTH_MIN = 0.8
/** Longest the download of a finished clip may take. */
const FETCH_SECONDS = 600

/**
 * Downloads, validates and stores the output: staged, mended when it is not an MP4 with picture and sound, judged where the configuration
 * says so, hashed, published. The charge comes with the outcome, after the bytes are on disk. A failed download is retried; an output that
 * is not a video, or that is blocked, fails the job and is not kept.
 */
export async function collectOutput(
  ctx: Context,
  job: VideoJobRow,
  { engine, output }: { engine: VideoEngine; output: JsonValue },
  signal: AbortSignal,
): Promise<Outcome> {
  const storing_since = ctx.clock.now()
  let fetched: StagedBlob
  try {
    fetched = await withTimeLimit({ signal, seconds: FETCH_SECONDS }, async (limit) => {
      const stream = await engine.fetch(job.ticket, output, limit)
      return ctx.blobs.stage(stream, { max_bytes: OUTPUT_BYTES_MAX, signal: limit })
    })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof BlobTooLarge) return unusable(ctx, job, error)
    return keepPolling(ctx, job, error)
  }
  failpoint('output_staged')
  const unpublished = [fetched]
  try {
    const kept = await mend(ctx, job, fetched, signal)
    if (kept !== fetched) unpublished.unshift(kept)
    const judged = await judgeOutput(ctx, job, kept, signal)
    if ('to' in judged) return judged
    failpoint('output_judged')
    const blob_key = await ctx.blobs.publish(kept)
    unpublished.shift()
    failpoint('output_published')
    return {
      to: 'completed',
      storing_since,
      ...judged,
      set: { blob_key, output_sha256: kept.sha256, output_size_bytes: BigInt(kept.size_bytes) },
    }
  } catch (error) {
    signal.throwIfAborted()
    if (isMediaFault(error)) return unusable(ctx, job, error)
    return keepPolling(ctx, job, error)
  } finally {
    for (const each of unpublished) await ctx.blobs.discard(each)
  }
}

/** The staged clip itself when it meets the promise, else a mended copy. */
async function mend(ctx: Context, job: VideoJobRow, fetched: StagedBlob, signal: AbortSignal): Promise<StagedBlob> {
  const size = { width: job.width ?? 1366, height: job.height ?? 768 }
  return ctx.blobs.withLocalFile(fetched, async (path) => {
    const mended = await mendOutput(path, size, { owner: job.org_id, signal, work_dir: ctx.work_dir })
    try {
      if ((mended.tracks.video_seconds[0] ?? 0) < job.seconds * LENGTH_MIN)
        throw new ProbeError('unreadable', 'The clip is much shorter than what was asked for.')
      if (!mended.changed) return fetched
      return await ctx.blobs.stage(createReadStream(mended.path), { max_bytes: OUTPUT_BYTES_MAX, signal })
    } finally {
      if (mended.changed) await rm(mended.path, { force: true })
    }
  })
}

function unusable(ctx: Context, job: VideoJobRow, error: unknown): Outcome {
  ctx.log.warn('output_unusable', { video_id: job.id, error })
  return { to: 'failed', code: 'render_failed' }
}
