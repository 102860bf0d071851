import type { Context } from '../../context.ts'
import { EngineError } from '../../engines/engine-error.ts'
import type { Recovery, RenderRequest, Ticket } from '../../engines/video/contract.ts'
import { addSeconds } from '../../platform/clock.ts'
import { type Outcome, STARTS_UNKNOWN_MAX } from '../job.ts'
import { backoffSeconds, describeFault, renderFailure } from '../pipeline/retry.ts'
import type { VideoJobRow } from '../store.ts'
import type { ServedModel } from './served-model.ts'
import { findForeignRenders, hasUnsettledStart } from './store.ts'

/** How long a render of a job that ended with an unsettled start may still appear in the engine's list. */
export const UNSETTLED_SECONDS = 3600

/** How often an engine whose list shows several matching renders is asked before the job fails. */
const ASKED_MAX = 5

/**
 * Settles an attempt that was begun and has no ticket. Returns the render that was found; or, when the job may be started again, its number
 * of starts of unknown outcome including this one; or the outcome of the job. The second start of unknown outcome fails the job. Renders
 * that cannot be distinguished fail it too, after some tries: a wrong guess would give one clip to two customers.
 */
export async function recoverRender(
  ctx: Context,
  job: VideoJobRow,
  { served, request, since }: { served: ServedModel; request: RenderRequest; since: Date },
): Promise<{ found: Ticket } | { unknown_starts: number } | Outcome> {
  let recovery: Recovery
  try {
    recovery = await askEngine(ctx, job, { served, request, since })
  } catch (error) {
    if (!(error instanceof EngineError)) throw error
    ctx.log.warn('recover_failed', { video_id: job.id, ...describeFault(error) })
    return { to: 'same', retry_after_seconds: backoffSeconds(job.tries, error), set: { tries: job.tries + 1 } }
  }
  if (typeof recovery === 'object') return recovery
  if (recovery === 'several') {
    if (job.tries >= ASKED_MAX) return giveUp(ctx, job, 'Several renders at the engine may be this one.')
    return { to: 'same', retry_after_seconds: backoffSeconds(job.tries), set: { tries: job.tries + 1 } }
  }
  // A start cut off by a restart is settled by a list that lacks it; an engine that did not answer may still list it later.
  const learned = job.start_unknown || recovery === 'absent'
  const unknown_starts = job.unknown_starts + (learned ? 0 : 1)
  if (unknown_starts < STARTS_UNKNOWN_MAX) return { unknown_starts }
  return giveUp(ctx, job, 'Two starts were not answered.')
}

/** `unknown` when the engine refuses the question. Throws EngineError when it may answer later. */
async function askEngine(
  ctx: Context,
  job: VideoJobRow,
  { served, request, since }: { served: ServedModel; request: RenderRequest; since: Date },
): Promise<Recovery> {
  const taken = (render_keys: readonly string[]) => findForeignRenders(ctx.db, { render_keys, job_id: job.id })
  try {
    const recovery = (await served.engine.recover?.(request, { since, taken })) ?? 'unknown'
    const isGuess = typeof recovery === 'object' && !recovery.certain
    return isGuess && (await mayBeForeign(ctx, job)) ? 'several' : recovery
  } catch (error) {
    if (error instanceof EngineError && renderFailure(error) !== null) return 'unknown'
    throw error
  }
}

/** Fails the job with an alarm in the log: the engine may go on rendering, at the operator's cost. */
function giveUp(ctx: Context, job: VideoJobRow, detail: string): Outcome {
  const { id: video_id, attempt_id } = job
  ctx.log.error('render_start_unknown', { video_id, attempt_id: attempt_id ?? undefined, detail })
  return { to: 'failed', code: 'render_failed' }
}

/** Whether a matching render may belong to a job that was canceled or failed before its own start was settled. */
async function mayBeForeign(ctx: Context, { id: job_id, start_key }: VideoJobRow): Promise<boolean> {
  if (start_key === null) return false
  const since = addSeconds(ctx.clock.now(), -UNSETTLED_SECONDS)
  return hasUnsettledStart(ctx.db, { start_key, job_id, since })
}
