import { isDeepStrictEqual } from 'node:util'
import type { Context } from '../../context.ts'
import type { Ticket } from '../../engines/video/contract.ts'
import { BlobsAway } from '../../platform/blobs/blobs.ts'
import { removeUnneeded } from '../../platform/blobs/remove.ts'
import { addSeconds } from '../../platform/clock.ts'
import { isDatabaseDown } from '../../platform/db/db.ts'
import { backoffSeconds } from '../../platform/queue/backoff.ts'
import { isTerminal, type JobStatus, type Outcome } from '../job.ts'
import { moderate } from '../moderation/moderate.ts'
import { cancelQuietly, followRender } from '../render/follow.ts'
import { servedModel } from '../render/served-model.ts'
import { startRender } from '../render/start.ts'
import { recordRender } from '../render/store.ts'
import { translate } from '../translation/translate.ts'
import { type AppliedOutcome, advance } from './advance.ts'
import { videoClaims } from './claims.ts'
import { jobStageOf, withinStage } from './job-telemetry.ts'
import { secondsSince } from './retry.ts'
import { findRunningJobOfAnyOrg, type Job } from './store.ts'

type Step = (ctx: Context, job: Job, signal: AbortSignal) => Promise<Outcome>

/** The step of each status that is not terminal. */
const STEPS: Partial<Record<JobStatus, Step>> = {
  moderating: moderate,
  translating: translate,
  queued: startRender,
  in_progress: followRender,
}

/** Faults of ours in a row after which a job still goes on. */
const FAULTS_MAX = 5

/**
 * Faults of ours in a row, by job, of one consumer. Not counted in `tries`, which an engine may drive up for hours. Those of the storage have
 * their own count: after many of them, another fault does not end the job.
 */
export type Faults = Map<string, { own: number; of_storage: number }>

export type StepRun = {
  signal: AbortSignal
  faults: Faults
  on_completed?: ((job: Job) => void) | undefined
}

type Waiting = { job: Job; wait_seconds: number }

/**
 * Takes a job from step to step until it ends or has to wait. Null when it has ended or was released, or when another consumer came
 * first; otherwise the job as it now is and the seconds to wait. Throws when the database is down or `signal` aborts: the job is then
 * as its last step left it.
 */
export async function runJob(
  ctx: Context,
  job: Job,
  { signal, faults, on_completed }: StepRun,
): Promise<Waiting | null> {
  let current = job
  for (;;) {
    signal.throwIfAborted()
    let next: AppliedOutcome | null
    const step = STEPS[current.status]!
    try {
      const outcome = await withinStage(ctx, current, jobStageOf(current.status), () => step(ctx, current, signal))
      next = await advance(ctx, current, outcome)
      if (!next) await discardLate(ctx, current, outcome)
    } catch (error) {
      if (signal.aborted || isDatabaseDown(error)) throw error
      return retryFaulty(ctx, current, { error, faults })
    }
    faults.delete(current.id)
    if (next?.job.status === 'completed') on_completed?.(next.job)
    if (!next || isTerminal(next.job.status)) return null
    current = next.job
    if (next.outcome.to === 'same' && next.outcome.retry_after_seconds > 0) {
      return { job: current, wait_seconds: next.outcome.retry_after_seconds }
    }
  }
}

/**
 * Handles an error of our own in a step or in writing its outcome: the job is retried with growing waits, then fails. A job whose row
 * cannot be written at all is released, to be claimed again after the same wait.
 */
async function retryFaulty(
  ctx: Context,
  job: Job,
  { error, faults }: { error: unknown; faults: Faults },
): Promise<Waiting | null> {
  const counts = faults.get(job.id) ?? { own: 0, of_storage: 0 }
  faults.set(job.id, counts)
  const count = error instanceof BlobsAway ? ++counts.of_storage : ++counts.own
  const isOver = count > FAULTS_MAX && !mayWait(ctx, job, error)
  ctx.log.error('step_failed', { video_id: job.id, job_status: job.status, count, error })
  const wait_seconds = backoffSeconds(count - 1)
  const outcome: Outcome = isOver
    ? { to: 'failed', code: 'internal_error' }
    : { to: 'same', retry_after_seconds: wait_seconds }
  try {
    const next = await advance(ctx, job, outcome)
    if (next && !isTerminal(next.job.status)) {
      // The step may have written to the row before it failed.
      const written = await findRunningJobOfAnyOrg(ctx.db, job.id)
      // Another consumer has it, or it was canceled.
      if (!written || written.claim_id !== job.claim_id) return null
      return { job: written, wait_seconds }
    }
    faults.delete(job.id)
  } catch (again) {
    if (isDatabaseDown(again)) throw again
    ctx.log.error('fault_not_written', { video_id: job.id, job_status: job.status, count, error: again })
    await videoClaims.release(ctx.db, [job], { not_before: addSeconds(ctx.clock.now(), wait_seconds) })
  }
  return null
}

/** A bucket that is away says nothing about the job. Queued and rendering it has time limits of its own; before, it has that of the queue. */
function mayWait(ctx: Context, job: Job, error: unknown): boolean {
  if (!(error instanceof BlobsAway)) return false
  return job.queued_at !== null || secondsSince(ctx, job.created_at) < ctx.config.limits.queue_seconds
}

/**
 * Discards the result of an outcome that came too late, after a cancellation or another consumer: its clip is deleted; its render is recorded
 * as this job's and canceled, unless another consumer follows the same render by now or is about to look for it.
 */
async function discardLate(ctx: Context, job: Job, outcome: Outcome): Promise<void> {
  if (outcome.to === 'failed' || outcome.to === 'canceled') return
  if (outcome.set?.blob_key != null) await removeUnneeded(ctx.blobs, [outcome.set.blob_key])
  // Only an outcome that has learned the ticket names a render nobody else knows.
  if (outcome.attempt?.set.ticket == null) return
  const { attempt, set } = outcome.attempt
  const { ticket = null, render_key } = set
  if (render_key != null) await recordRender(ctx.db, { id: attempt.id, render_key, ticket, now: ctx.clock.now() })
  const now = await findRunningJobOfAnyOrg(ctx.db, job.id)
  if (now && !isTerminal(now.status) && mayBeFollowed(now, ticket)) return
  const served = servedModel(ctx, { ...job, attempt })
  if (served) await cancelQuietly(ctx, served.engine, { id: job.id, ticket })
}

/** Whether another consumer follows this render by now, or is about to look for it. */
function mayBeFollowed({ attempt }: Job, ticket: Ticket): boolean {
  return attempt === null || attempt.ticket === null || isDeepStrictEqual(attempt.ticket, ticket)
}
