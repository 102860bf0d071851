import { isDeepStrictEqual } from 'node:util'
import type { Context } from '../../context.ts'
import { isDatabaseDown } from '../../platform/db/db.ts'
import { isTerminal, type Outcome, type Status } from '../job.ts'
import { moderate } from '../moderation/moderate.ts'
import { cancelQuietly, followRender } from '../render/follow.ts'
import { servedModel } from '../render/served-model.ts'
import { startRender } from '../render/start.ts'
import { recordRenders } from '../render/store.ts'
import { findJobOfAnyOrg, type VideoJobRow } from '../store.ts'
import { translate } from '../translation/translate.ts'
import { advance } from './advance.ts'
import { backoffSeconds } from './retry.ts'

type Step = (ctx: Context, job: VideoJobRow, signal: AbortSignal) => Promise<Outcome>

/** What is to be done with a job in each state that is not terminal. */
const STEPS: Partial<Record<Status, Step>> = {
  moderating: moderate,
  translating: translate,
  queued: startRender,
  in_progress: followRender,
}

/** How often in a row a step may fall over by a fault of ours before the job fails. */
const FAULTS_MAX = 5

/** Faults in a row of the jobs this process works on. Apart from `tries`, which an engine may drive up for hours. */
const faults = new Map<string, number>()

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
    if (!next || isTerminal(next.job.status)) return null
    const { applied } = next
    current = next.job
    if (applied.to === 'same' && applied.retry_after_seconds > 0) {
      return { job: current, wait_seconds: applied.retry_after_seconds }
    }
  }
}

async function decide(ctx: Context, job: VideoJobRow, signal: AbortSignal): Promise<Outcome> {
  const step = STEPS[job.status]
  if (!step) throw new Error(`no step for ${job.status}`)
  try {
    const outcome = await step(ctx, job, signal)
    faults.delete(job.id)
    return outcome
  } catch (error) {
    if (signal.aborted || isDatabaseDown(error)) throw error
    const count = (faults.get(job.id) ?? 0) + 1
    ctx.log.error('step_failed', { video_id: job.id, job_status: job.status, count, error })
    if (count <= FAULTS_MAX) {
      faults.set(job.id, count)
      return { to: 'same', retry_after_seconds: backoffSeconds(count - 1) }
    }
    faults.delete(job.id)
    return { to: 'failed', code: 'internal_error' }
  }
}

/**
 * What came too late, after a cancellation or another worker, is thrown away: a clip is not kept; a render is noted as this
 * job's and ended, unless another worker follows that very render by now or is about to look for it.
 */
async function discardLate(ctx: Context, job: VideoJobRow, outcome: Outcome): Promise<void> {
  if (outcome.to === 'failed' || outcome.to === 'canceled' || !outcome.set) return
  const { blob_key, ticket } = outcome.set
  if (blob_key !== undefined) await ctx.blobs.remove(blob_key)
  if (ticket == null) return
  const { render_key } = outcome
  if (render_key !== undefined)
    await recordRenders(ctx.db, [{ render_key, job_id: job.id, created_at: ctx.clock.now() }])
  const now = await findJobOfAnyOrg(ctx.db, job.id)
  if (now && !isTerminal(now.status) && (now.ticket === null || isDeepStrictEqual(now.ticket, ticket))) return
  const served = servedModel(ctx, job)
  if (served) await cancelQuietly(ctx, served.engine, { ...job, ticket })
}
