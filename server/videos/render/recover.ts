import type { Context } from '../../context.ts'
import { EngineError } from '../../engines/engine-error.ts'
import type { Recovery, RenderRequest, Ticket } from '../../engines/video/contract.ts'
import { addSeconds } from '../../platform/clock.ts'
import { backoffSeconds } from '../../platform/queue/backoff.ts'
import type { Outcome } from '../job.ts'
import { describeFault, renderFailure } from '../pipeline/retry.ts'
import { findAttempts, type Job } from '../pipeline/store.ts'
import { type AttemptMove, ends, mayStartAgain, moved, type RenderAttempt } from './attempt.ts'
import { isEmbedded, type ServedModel } from './served-model.ts'
import { findForeignRenders, hasUnsettledStart } from './store.ts'

/** How long a render of a job that ended with an unsettled start may still appear in the engine's list. */
const UNSETTLED_SECONDS = 3600

/** How often an engine whose list shows several matching renders is asked before the job fails. */
const ASKED_MAX = 5

/**
 * Settles a start that has no ticket. Returns the ticket of the render that was found; or, when the job may be started again, how this start
 * ended; or the outcome of the job. Renders that cannot be distinguished fail it, after some tries: a wrong guess would give one clip to two
 * customers.
 */
export async function recoverRender(
  ctx: Context,
  job: Job,
  { attempt, ...asked }: { served: ServedModel; request: RenderRequest; attempt: RenderAttempt },
): Promise<{ ticket: Ticket } | { ended: AttemptMove } | Outcome> {
  let recovery: Recovery
  try {
    recovery = await askEngine(ctx, attempt, asked)
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    ctx.log.warn('recover_failed', { video_id: job.id, ...describeFault(error) })
    return { to: 'same', retry_after_seconds: backoffSeconds(job.tries, error), set: { tries: job.tries + 1 } }
  }
  if (typeof recovery === 'object') return { ticket: recovery.found }
  if (recovery === 'several') {
    if (job.tries >= ASKED_MAX) return raiseAlarm(ctx, job, 'Several renders at the engine may be this one.')
    return { to: 'same', retry_after_seconds: backoffSeconds(job.tries), set: { tries: job.tries + 1 } }
  }
  const now = ctx.clock.now()
  // A start cut off by a restart is settled by a list that lacks it; an engine that did not answer may still list it later.
  if (attempt.state === 'starting' && recovery === 'absent')
    return { ended: ends(attempt, { state: 'not_begun', because: 'The engine does not list it.', now }) }
  const ended = ends(attempt, { state: 'abandoned', because: 'The engine did not answer.', now })
  if (mayStartAgain(moved(ended), { embedded: isEmbedded(asked.served) })) return { ended }
  await logStarts(ctx, ended)
  return raiseAlarm(ctx, job, 'The second start was not answered.')
}

/** The job has had every start that it may have: it fails, and the log says how each of them ended. */
export async function giveUp(ctx: Context, ended: AttemptMove): Promise<Outcome> {
  await logStarts(ctx, ended)
  return { to: 'failed', code: 'render_failed', attempt: ended }
}

async function logStarts(ctx: Context, ended: AttemptMove): Promise<void> {
  const last = moved(ended)
  const before = (await findAttempts(ctx.db, [last.job_id])).filter(({ id }) => id !== last.id)
  const detail = [...before, last].map(({ number, state, ended_because: why }) => `${number}: ${why ?? state}`)
  ctx.log.warn('render_given_up', { video_id: last.job_id, count: last.number, detail: detail.join('; ') })
}

/** `unknown` when the engine refuses the question. Throws EngineError when it may answer later. */
async function askEngine(
  ctx: Context,
  attempt: RenderAttempt,
  { served, request }: { served: ServedModel; request: RenderRequest },
): Promise<Recovery> {
  const { job_id, created_at: since } = attempt
  const taken = (render_keys: readonly string[]) => findForeignRenders(ctx.db, { render_keys, job_id })
  try {
    const recovery = (await served.engine.recover?.(request, { since, taken })) ?? 'unknown'
    const isGuess = typeof recovery === 'object' && !recovery.certain
    return isGuess && (await mayBeForeign(ctx, attempt)) ? 'several' : recovery
  } catch (error) {
    if (error instanceof EngineError && renderFailure(error) !== null) return 'unknown'
    throw error
  }
}

/** Fails the job with an alarm in the log: the engine may go on rendering, at the operator's cost. */
function raiseAlarm(ctx: Context, { id: video_id, attempt_id }: Job, detail: string): Outcome {
  ctx.log.error('render_start_unknown', { video_id, attempt_id: attempt_id ?? undefined, detail })
  return { to: 'failed', code: 'render_failed' }
}

/** Whether a matching render may belong to a job that was canceled or failed before its own start was settled. */
async function mayBeForeign(ctx: Context, { job_id, start_key }: RenderAttempt): Promise<boolean> {
  if (start_key === null) return false
  const since = addSeconds(ctx.clock.now(), -UNSETTLED_SECONDS)
  return hasUnsettledStart(ctx.db, { start_key, job_id, since })
}
