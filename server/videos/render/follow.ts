import type { Context } from '../../context.ts'
import type { EngineError } from '../../engines/engine-error.ts'
import type { RenderState, VideoEngine } from '../../engines/video/contract.ts'
import type { Outcome } from '../job.ts'
import { withinStage } from '../pipeline/observe-jobs.ts'
import { backoffSeconds, describeFault, keepPolling, notAfter, renderFailure, secondsSince } from '../pipeline/retry.ts'
import { withTimeLimit } from '../pipeline/time-limit.ts'
import type { VideoJobRow } from '../store.ts'
import { collectOutput } from './output.ts'
import { servedModel } from './served-model.ts'
import { startRender } from './start.ts'

/** Longest an engine may take to answer one poll. */
const POLL_SECONDS = 30
/** Default poll interval, for engines that suggest none. */
const POLL_EVERY_SECONDS = 5
/** How often an embedded engine, whose renders end with the process, may lose one: each loss is a restart of the service. */
const LOST_MAX_EMBEDDED = 20

/** Follows a render: polls the engine, restarts a render it lost or dropped, fetches a finished one. No answer is not a failure. */
export async function followRender(ctx: Context, job: VideoJobRow, signal: AbortSignal): Promise<Outcome> {
  const served = servedModel(ctx, job)
  if (!served) return { to: 'failed', code: 'render_failed' }
  const { engine } = served
  const left_seconds = served.render_seconds - secondsSince(ctx, job.render_started_at!)
  if (left_seconds <= 0) {
    // Without a ticket the last render failed or was lost, and no time is left for another.
    if (job.ticket === null) return { to: 'failed', code: 'render_failed' }
    await cancelQuietly(ctx, engine, job)
    return { to: 'failed', code: 'render_timeout' }
  }
  const step = job.ticket === null ? startRender : pollRender
  return notAfter(left_seconds, await step(ctx, job, signal))
}

/** Polls the engine once. */
async function pollRender(ctx: Context, job: VideoJobRow, signal: AbortSignal): Promise<Outcome> {
  const { engine, model } = servedModel(ctx, job)!
  let state: RenderState
  try {
    state = await withTimeLimit({ signal, seconds: POLL_SECONDS }, (limit) => engine.poll(job.ticket, limit))
  } catch (error) {
    signal.throwIfAborted()
    return keepPolling(ctx, job, error)
  }
  switch (state.state) {
    case 'running': {
      const progress = Math.min(99, Math.max(job.progress, Math.floor(state.progress ?? 0)))
      return {
        to: 'same',
        retry_after_seconds: state.next_poll_seconds ?? POLL_EVERY_SECONDS,
        set: { progress, tries: 0 },
      }
    }
    case 'lost':
      return lostRender(ctx, job, engine, model)
    case 'failed':
      return failedRender(ctx, job, state.error)
    case 'succeeded':
      return withinStage(ctx, job, 'storing', () => collectOutput(ctx, job, { engine, output: state.output }, signal))
  }
}

/** Cancels a render at the engine on a best effort basis; errors are logged and change nothing for the job. */
export async function cancelQuietly(ctx: Pick<Context, 'log'>, engine: VideoEngine, job: VideoJobRow): Promise<void> {
  try {
    await engine.cancel(job.ticket)
  } catch (error) {
    ctx.log.warn('engine_cancel_failed', { video_id: job.id, ...describeFault(error) })
  }
}

/** One new attempt, then the job fails. Embedded engines lose their renders with every restart of the service, and get more. */
function lostRender(ctx: Context, job: VideoJobRow, engine: VideoEngine, model: string): Outcome {
  const lost_max = engine.capabilities(model).embedded ? LOST_MAX_EMBEDDED : 1
  ctx.log.warn('render_lost', { video_id: job.id, attempt_id: job.attempt_id ?? undefined, count: job.lost + 1 })
  if (job.lost >= lost_max) return { to: 'failed', code: 'render_failed' }
  return { to: 'same', retry_after_seconds: 0, set: { ...NO_ATTEMPT, lost: job.lost + 1 } }
}

function failedRender(ctx: Context, job: VideoJobRow, error: EngineError): Outcome {
  ctx.log.warn('render_failed', { video_id: job.id, ...describeFault(error) })
  const failure = renderFailure(error)
  if (failure) return { to: 'failed', code: failure }
  return { to: 'same', retry_after_seconds: backoffSeconds(job.attempts, error), set: NO_ATTEMPT }
}

const NO_ATTEMPT = {
  ...{ ticket: null, attempt_id: null, attempt_started_at: null, start_key: null },
  ...{ start_unknown: false, tries: 0 },
}
