import type { Context } from '../context.ts'
import { isDatabaseDown } from '../platform/db.ts'
import { advance } from './advance.ts'
import { isTerminal, type Outcome, type Status } from './job.ts'
import { moderate } from './moderate.ts'
import { cancelQuietly, followRender } from './render.ts'
import { startRender } from './render-start.ts'
import { backoffSeconds } from './retry.ts'
import { servedModel } from './served-model.ts'
import type { VideoJobRow } from './store.ts'
import { translate } from './translate.ts'

type Step = (ctx: Context, job: VideoJobRow, signal: AbortSignal) => Promise<Outcome>

/** What is to be done with a job in each state that is not terminal. */
const STEPS: Partial<Record<Status, Step>> = {
  moderating: moderate,
  translating: translate,
  queued: startRender,
  in_progress: followRender,
}

/** How often a step may fall over by a fault of ours before the job fails. */
const FAULTS_MAX = 5

/**
 * Takes a job from step to step until it ends or has to wait. Null when it has ended, or another got there first; otherwise the job
 * as it stands and the seconds to wait. Throws when the database is gone or `signal` aborts; the job is then as its last step left it.
 */
export async function runJob(
  ctx: Context,
  job: VideoJobRow,
  signal: AbortSignal,
): Promise<{ job: VideoJobRow; wait_seconds: number } | null> {
  let current = job
  for (;;) {
    signal.throwIfAborted()
    const outcome = await decide(ctx, current, signal)
    const next = await advance(ctx, current, outcome)
    if (!next) await discardLate(ctx, current, outcome)
    if (!next || isTerminal(next.status)) return null
    current = next
    if (outcome.to === 'same' && outcome.retry_after_seconds > 0) {
      return { job: current, wait_seconds: outcome.retry_after_seconds }
    }
  }
}

async function decide(ctx: Context, job: VideoJobRow, signal: AbortSignal): Promise<Outcome> {
  const step = STEPS[job.status]
  if (!step) throw new Error(`no step for ${job.status}`)
  try {
    return await step(ctx, job, signal)
  } catch (error) {
    if (signal.aborted || isDatabaseDown(error)) throw error
    ctx.log.error('step_failed', { video_id: job.id, job_status: job.status, error })
    if (job.tries >= FAULTS_MAX) return { to: 'failed', code: 'internal_error' }
    return { to: 'same', retry_after_seconds: backoffSeconds(job.tries), set: { tries: job.tries + 1 } }
  }
}

/** What came too late, after a cancellation or another worker, is thrown away: a clip is not kept, a render is ended. */
async function discardLate(ctx: Context, job: VideoJobRow, outcome: Outcome): Promise<void> {
  if (outcome.to === 'failed' || !outcome.set) return
  const { blob_key, ticket } = outcome.set
  if (blob_key !== undefined) await ctx.blobs.remove(blob_key)
  const served = servedModel(ctx, job)
  if (ticket != null && served) await cancelQuietly(ctx, served.engine, { ...job, ticket })
}
