import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { Context } from '../../context.ts'
import { EngineError } from '../../engines/engine-error.ts'
import type { JsonValue, VideoEngine } from '../../engines/video/contract.ts'
import { repairOutput } from '../../media/repair.ts'
import { BlobTooLarge, type StagedBlob } from '../../platform/blobs/blobs.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { backoffSeconds } from '../../platform/queue/backoff.ts'
import { isMediaFault, isSlowness } from '../input-problem.ts'
import type { FailureCode, Outcome } from '../job.ts'
import { judgeOutput } from '../moderation/output.ts'
import { withinStage } from '../pipeline/job-telemetry.ts'
import { describeFault, notAfter, reasonOf, renderFailure, secondsSince } from '../pipeline/retry.ts'
import type { Job } from '../pipeline/store.ts'
import { withTimeLimit } from '../pipeline/time-limit.ts'
import { type AttemptMove, ends, type RenderAttempt } from './attempt.ts'
import type { ServedModel } from './served-model.ts'

/** Longest an engine may take to answer one poll. */
export const POLL_SECONDS = 30
/** 15 seconds at 768p are some tens of megabytes. */
const OUTPUT_BYTES_MAX = 1024 * 1024 * 1024
/** The picture may be a little shorter than what was asked for, however long the sound is: engines render whole groups of frames. Source: docs/states.md. */
const LENGTH_MIN = 0.8
/** Longest the download of a finished clip may take. */
export const FETCH_SECONDS = 600
/** A finished clip is fetched again for this long: engines and their stores keep clips for an hour at least, most of them for a day. */
const DELIVERED_SECONDS = 3600
/** How long a clip that the engine refuses to hand over, or whose bytes are no clip, is asked for again: stores need a moment to have it everywhere. */
const REFUSED_SECONDS = 90

/** The attempt whose clip the engine says is finished: from here on a failure is one of fetching it, and never leads to a new render. */
export function asDelivered(ctx: Context, attempt: RenderAttempt, output: JsonValue): AttemptMove {
  const now = ctx.clock.now()
  return { attempt, set: { state: 'delivered', output, delivered_at: now, last_heard_at: now, missing_since: null } }
}

/** Fetches a clip that could not be fetched when it was finished, or not in one go. The time limit of the render no longer counts. */
export async function fetchDelivered(
  ctx: Context,
  job: Job,
  { served, attempt }: { served: ServedModel; attempt: RenderAttempt },
  signal: AbortSignal,
): Promise<Outcome> {
  const left_seconds = DELIVERED_SECONDS - secondsSince(ctx, attempt.delivered_at!)
  if (left_seconds <= 0) return unavailable(ctx, attempt, new Error('The clip could not be fetched in time.'))
  const { engine } = served
  const output = job.tries === 0 ? attempt.output : await freshOutput(ctx, job, { engine, attempt }, signal)
  const outcome = await withinStage(ctx, job, 'storing', () =>
    collectOutput(ctx, job, { engine, attempt, output }, signal),
  )
  return notAfter(left_seconds, outcome)
}

/** What the engine now says of the clip: its URL may have expired. Whatever else it says, the clip was finished. */
async function freshOutput(
  ctx: Context,
  job: Job,
  { engine, attempt }: { engine: VideoEngine; attempt: RenderAttempt },
  signal: AbortSignal,
): Promise<JsonValue> {
  try {
    const state = await withTimeLimit({ signal, seconds: POLL_SECONDS }, (limit) => engine.poll(attempt.ticket, limit))
    if (state.state === 'succeeded') return state.output
    ctx.log.warn('poll_failed', { video_id: job.id, detail: `The finished render is ${state.state}.` })
  } catch (error) {
    signal.throwIfAborted()
    ctx.log.warn('poll_failed', { video_id: job.id, ...describeFault(error) })
  }
  return attempt.output
}

/**
 * Downloads, validates and stores the output: staged, repaired when it is not an MP4 with picture and sound, judged where the configuration
 * says so, hashed, published. The charge comes with the outcome, after the bytes are on disk. A failed download is retried, and so are bytes
 * that are not a video; a clip that is too short or too large, or that is blocked, fails the job and is not kept.
 */
export async function collectOutput(
  ctx: Context,
  job: Job,
  { engine, attempt, output }: { engine: VideoEngine; attempt: RenderAttempt; output: JsonValue },
  signal: AbortSignal,
): Promise<Outcome> {
  const storing_since = ctx.clock.now()
  const unpublished: StagedBlob[] = []
  try {
    const fetched = await withTimeLimit({ signal, seconds: FETCH_SECONDS }, async (limit) => {
      const stream = await engine.fetch(attempt.ticket, output, limit)
      return ctx.blobs.stage(stream, { max_bytes: OUTPUT_BYTES_MAX, signal: limit })
    })
    unpublished.push(fetched)
    failpoint('output_staged')
    const kept = await repair(ctx, job, fetched, signal)
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
    return notFetched(ctx, job, { attempt, output }, error)
  } finally {
    for (const each of unpublished) await ctx.blobs.discard(each)
  }
}

/** The clip is fetched again, unless it is a bad one, or has been refused for a while. */
function notFetched(
  ctx: Context,
  job: Job,
  { attempt, output }: { attempt: RenderAttempt; output: JsonValue },
  error: unknown,
): Outcome {
  if (error instanceof BlobTooLarge || error instanceof ShortClip) return unavailable(ctx, attempt, error)
  const refusal = refusalOf(error)
  if (refusal === 'moderation_blocked') return { ...unavailable(ctx, attempt, error), code: refusal }
  const missing_since = attempt.missing_since ?? (refusal === null ? null : ctx.clock.now())
  if (refusal !== null && secondsSince(ctx, missing_since!) >= REFUSED_SECONDS) return unavailable(ctx, attempt, error)
  const isOurs = !(error instanceof EngineError) && !isMediaFault(error)
  const level = isOurs ? 'error' : 'warn'
  ctx.log[level]('fetch_failed', { video_id: job.id, count: job.tries + 1, ...describeFault(error) })
  const { set: delivered } = asDelivered(ctx, attempt, output)
  const set = attempt.state === 'delivered' ? { output, missing_since } : { ...delivered, missing_since }
  return {
    to: 'same',
    retry_after_seconds: backoffSeconds(job.tries + 1, error),
    set: { tries: job.tries + 1 },
    attempt: { attempt, set },
  }
}

/** The staged clip itself when it meets the promise, else a repaired copy. */
async function repair(ctx: Context, job: Job, fetched: StagedBlob, signal: AbortSignal): Promise<StagedBlob> {
  const size = { width: job.width ?? 1366, height: job.height ?? 768 }
  return ctx.blobs.withLocalFile(fetched, async (path) => {
    const repaired = await repairOutput(path, size, { owner: job.org_id, signal, work_dir: ctx.work_dir })
    try {
      if ((repaired.tracks.video_seconds[0] ?? 0) < job.seconds * LENGTH_MIN)
        throw new ShortClip('The clip is much shorter than what was asked for.')
      if (!repaired.changed) return fetched
      return await ctx.blobs.stage(createReadStream(repaired.path), { max_bytes: OUTPUT_BYTES_MAX, signal })
    } finally {
      if (repaired.changed) await rm(repaired.path, { force: true })
    }
  })
}

/**
 * The code of a failure that another fetch will hardly change; null for one that passes, as our own slowness does. A reply that is no clip
 * counts like one that is refused.
 */
function refusalOf(error: unknown): FailureCode | null {
  if (!(error instanceof EngineError)) return isMediaFault(error) && !isSlowness(error) ? 'render_failed' : null
  return error.engine_code === 'unreadable' ? 'render_failed' : renderFailure(error)
}

/** Less of a picture than was asked for. */
class ShortClip extends Error {
  override name = 'ShortClip'
}

function unavailable(ctx: Context, attempt: RenderAttempt, error: unknown) {
  ctx.log.warn('output_unusable', { video_id: attempt.job_id, ...describeFault(error) })
  const ended = ends(attempt, { state: 'failed', because: reasonOf(error), now: ctx.clock.now() })
  return { to: 'failed' as const, code: 'render_failed' as FailureCode, attempt: ended }
}
