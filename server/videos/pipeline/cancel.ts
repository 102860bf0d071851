import type { Context } from '../../context.ts'
import type { Ticket } from '../../engines/video/contract.ts'
import type { Actor } from '../../identity/activity/action.ts'
import { addSeconds } from '../../platform/clock.ts'
import { ApiError, notFound } from '../../platform/errors.ts'
import { QUEUE_TOPIC } from '../../platform/queue/consumer.ts'
import { withTimeout } from '../../platform/timeout.ts'
import { isTerminal } from '../job.ts'
import { CANCEL_QUEUE, CANCEL_TOPIC } from '../queues.ts'
import { servedModel } from '../render/served-model.ts'
import type { VideoJobRow } from '../store.ts'
import { type AdvanceContext, advance } from './advance.ts'
import { describeFault, secondsSince } from './retry.ts'
import { findRunningJob, findRunningJobOfAnyOrg, type Job } from './store.ts'

/** Longest a client waits for an engine to answer whether it stops a render. */
const ASK_SECONDS = 10
/** After this long without reaching the engine, its render has finished anyway. */
export const REPEAT_SECONDS = 3600

/**
 * Cancels a job: its hold is released at once, and what the engine still delivers is discarded. A job whose render has begun is canceled
 * only when `mayStop` resolves to true, which is the default. A canceled job stays as it is.
 * `by`: who cancels it; recorded when the job is another person's.
 * Throws ApiError `not_found`, or `conflict` when the job has completed or failed or its render cannot be stopped.
 */
export async function cancelJob(
  ctx: AdvanceContext,
  { org_id, id, by }: { org_id: string; id: string; by?: Actor },
  mayStop: (job: Job) => Promise<boolean> = async () => true,
): Promise<VideoJobRow> {
  for (;;) {
    const job = await findRunningJob(ctx.db, org_id, id)
    if (!job) throw notFound('video')
    if (job.status === 'canceled') return job
    if (isTerminal(job.status)) {
      throw new ApiError('conflict', `This job has ${job.status} and can no longer be canceled. Delete it instead.`)
    }
    if (job.status === 'in_progress' && !(await mayStop(job))) {
      throw new ApiError(
        'conflict',
        'The engine cannot stop this render. The job goes on, and is charged when it completes.',
      )
    }
    // Without a claim: any write since the job was read prevents it, such as that of a ticket.
    const canceled = await advance(
      ctx,
      { ...job, claim_id: null },
      { to: 'canceled', ...(by && isOther(by, job) && { by }) },
    )
    if (!canceled) continue
    ctx.changes.announce(CANCEL_TOPIC, id)
    if (canceled.job.cancel_due_at !== null) ctx.changes.announce(QUEUE_TOPIC, CANCEL_QUEUE)
    return canceled.job
  }
}

function isOther(by: Actor, job: VideoJobRow): boolean {
  return by.kind === 'operator' || by.user_id !== job.user_id
}

/**
 * Asks the engine to stop the job's render. False when it answers that it cannot; true when it stops, when no render was started, and
 * when the engine does not answer in time: a client does not wait for an engine that is down. Call it outside any transaction.
 */
export async function engineStops(
  ctx: Pick<Context, 'config' | 'engines' | 'log'>,
  job: Job,
  { ask_seconds = ASK_SECONDS }: { ask_seconds?: number } = {},
): Promise<boolean> {
  const served = servedModel(ctx, job)
  const ticket = openTicket(job)
  if (!served || ticket === null) return true
  const limit = new AbortController()
  try {
    return await withTimeout(ask_seconds * 1000, served.engine.cancel(ticket, limit.signal), () => {
      const late = new Error('The engine did not answer in time.')
      limit.abort(late)
      throw late
    })
  } catch (error) {
    ctx.log.warn('engine_cancel_failed', { video_id: job.id, ...describeFault(error) })
    return true
  }
}

function openTicket({ attempt }: Job): Ticket {
  return attempt?.ended_at === null ? attempt.ticket : null
}

/**
 * Whether the engine has been silent about the job's render long enough that its customer may leave, although the engine cannot stop it.
 * The attempt keeps the name of the render, so it is never given to another job.
 */
export function isStalled(ctx: Pick<Context, 'config' | 'clock'>, { attempt }: Job): boolean {
  if (attempt === null) return false
  const heard = attempt.last_heard_at ?? attempt.answered_at ?? attempt.created_at
  return secondsSince(ctx, heard) >= ctx.config.limits.stalled_after_seconds
}

/** Asks the engine of a canceled job to stop its render. Throws when it cannot be reached, so that the caller retries. */
export async function cancelAtEngine(ctx: Context, id: string): Promise<void> {
  const job = await findRunningJobOfAnyOrg(ctx.db, id)
  const ticket = job?.attempt?.ticket ?? null
  if (job?.status !== 'canceled' || ticket === null) return
  if (ctx.clock.now() > addSeconds(job.finished_at!, REPEAT_SECONDS)) return
  await servedModel(ctx, job)?.engine.cancel(ticket)
}
