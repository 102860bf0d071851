import { performance } from 'node:perf_hooks'
import type { Context } from '../../context.ts'
import { diskFull } from '../../files/upload.ts'
import { busyProblem, ChildrenBusy } from '../../media/children/concurrency-limit.ts'
import { FfmpegError } from '../../media/ffmpeg/choose.ts'
import { DiskFull } from '../../platform/blobs/blobs.ts'
import { ApiError } from '../../platform/errors.ts'
import { freshCache } from '../../platform/fresh-cache.ts'
import { isMediaFault } from '../input-problem.ts'
import { findJob, type VideoJobRow } from '../store.ts'
import { openAhead } from './ahead.ts'
import { type MakeContext, makeAndStore, removeBoth } from './make.ts'
import { forgetVariants } from './store.ts'
import {
  NO_VARIANTS,
  type PreparedVariant,
  type StoredVariant,
  type StoredVariants,
  storedVariants,
} from './variant.ts'

export type Variants = {
  /** The stored variant of a completed job, made now if need be. Throws ApiError `not_found`, `too_many_requests` or `server_is_overloaded`. */
  find(job: VideoJobRow, variant: PreparedVariant): Promise<StoredVariant>
  /** As `find`, after the bytes of `lost`, which `find` gave, were found missing. */
  replace(job: VideoJobRow, variant: PreparedVariant, lost: StoredVariant): Promise<StoredVariant>
  /** Makes them soon, if the service is not busy. Otherwise the first request does. */
  expect(job: VideoJobRow): void
  /** Ends the work under way. */
  close(): Promise<void>
}

/** How long a clip of which no picture can be made is not tried again. */
const FAILED_MS = 300_000
const FAILED_MAX = 10_000

/** Thumbnails and spritesheets of this process: work on a job is shared by all who ask for it. */
export function openVariants(ctx: MakeContext & Pick<Context, 'log'>): Variants {
  const active = new Map<string, Promise<StoredVariants>>()
  const now_ms = () => performance.now()
  const failed = freshCache<true>({ ttl_ms: FAILED_MS, entries_max: FAILED_MAX, now_ms })
  const stopping = new AbortController()

  const make = (job: VideoJobRow): Promise<StoredVariants> => {
    const shared = active.get(job.id)
    if (shared) return shared
    const started = makeAndStore(ctx, job, stopping.signal)
      .catch((error: unknown) => {
        if (stopping.signal.aborted || error instanceof ApiError || error instanceof ChildrenBusy) throw error
        if (isUnusable(error)) failed.keep(job.id, true)
        ctx.log.warn('variants_failed', { video_id: job.id, error })
        throw error
      })
      .finally(() => active.delete(job.id))
    active.set(job.id, started)
    return started
  }
  const find = async (job: VideoJobRow, variant: PreparedVariant): Promise<StoredVariant> => {
    const stored = storedVariants(job)
    if (stored) return stored[variant]
    if (failed.recall(job.id)) throw unusable(variant)
    try {
      return (await make(job))[variant]
    } catch (error) {
      throw pictureProblem(error, variant)
    }
  }
  const ahead = openAhead(async (job) => {
    if (!failed.recall(job.id)) await make(job)
  })

  return {
    find,
    async replace(job, variant, lost) {
      // The job of the caller may be older than `lost`.
      const current = await findJob(ctx.db, job.org_id, job.id)
      const stored = current && storedVariants(current)
      const isLost = stored?.[variant].blob_key === lost.blob_key
      if (isLost && (await forgetVariants(ctx.db, job, stored))) await removeBoth(ctx, stored)
      // Work that began before may end with the lost ones.
      await active.get(job.id)?.catch(() => {})
      return find({ ...job, ...NO_VARIANTS }, variant)
    },
    expect: ahead.add,
    async close() {
      stopping.abort(new Error('The service is stopping.'))
      await Promise.all([ahead.stop(), Promise.allSettled(active.values())])
    },
  }
}

/** Whether trying again is of no use: the clip cannot be decoded, or this machine has no FFmpeg. */
function isUnusable(error: unknown): boolean {
  return isMediaFault(error) || error instanceof FfmpegError
}

/** The error for the client, where a picture of a clip could not be made; others as they are. `picture`: what it is. */
export function pictureProblem(error: unknown, picture: string): unknown {
  if (error instanceof ChildrenBusy) return busyProblem(error, 'pictures of videos')
  if (error instanceof DiskFull) return diskFull(error)
  return isUnusable(error) ? unusable(picture) : error
}

function unusable(picture: string): ApiError {
  return new ApiError('not_found', `The ${picture} of this video could not be made. The video itself is available.`)
}
