import type { Context } from '../../context.ts'
import type { EngineError } from '../../engines/engine-error.ts'
import type { RenderState, Ticket, VideoEngine } from '../../engines/video/contract.ts'
import type { LogFields } from '../../platform/log.ts'
import { backoffSeconds } from '../../platform/queue/backoff.ts'
import type { Outcome } from '../job.ts'
import { withinStage } from '../pipeline/job-telemetry.ts'
import { describeFault, keepPolling, notAfter, reasonOf, renderFailure, secondsSince } from '../pipeline/retry.ts'
import type { Job } from '../pipeline/store.ts'
import { withTimeLimit } from '../pipeline/time-limit.ts'
import { type AttemptMove, ends, mayStartAgain, moved, type RenderAttempt } from './attempt.ts'
import { asDelivered, collectOutput, FETCH_SECONDS, fetchDelivered, POLL_SECONDS } from './output.ts'
import { giveUp } from './recover.ts'
import { engineFields, isEmbedded, type ServedModel, servedModel, unserved } from './served-model.ts'
import { startRender } from './start.ts'

/** Default poll interval, for engines that suggest none. */
const POLL_EVERY_SECONDS = 5
/**
 * An engine that does not know a render is asked again for this long before it is believed: behind a load balancer, or just after a start or a
 * deployment, single polls are answered 404.
 */
const LOST_SECONDS = 30
/** Longest the engine is asked for a render that is out of time: it changes nothing any more. */
const LAST_POLL_SECONDS = 5
/** How fresh the stored time is at which the engine last said something usable: it is not worth a write for every poll. */
const HEARD_EVERY_SECONDS = 10

/** Follows a render: polls the engine, restarts a render it lost or dropped, fetches a finished one. No answer is not a failure. */
export async function followRender(ctx: Context, job: Job, signal: AbortSignal): Promise<Outcome> {
  const served = servedModel(ctx, job)
  if (!served) return unserved(ctx, job)
  const { attempt } = job
  if (attempt?.state === 'delivered') return fetchDelivered(ctx, job, { served, attempt }, signal)
  const rendering = attempt?.state === 'rendering' ? attempt : null
  const left_seconds = served.render_seconds - secondsSince(ctx, job.render_started_at!)
  if (left_seconds <= 0) return outOfTime(ctx, job, { served, rendering }, signal)
  const step = rendering
    ? pollRender(ctx, job, { served, attempt: rendering, left_seconds }, signal)
    : startRender(ctx, job, signal)
  return notAfter(left_seconds, await step)
}

async function outOfTime(
  ctx: Context,
  job: Job,
  { served, rendering }: { served: ServedModel; rendering: RenderAttempt | null },
  signal: AbortSignal,
): Promise<Outcome> {
  // The last render failed or was lost, and no time is left for another.
  if (!rendering)
    return job.attempt ? giveUp(ctx, { attempt: job.attempt, set: {} }) : { to: 'failed', code: 'render_failed' }
  const last_words = await lastWords(job, { served, attempt: rendering }, signal)
  ctx.log.warn('render_timeout', { video_id: job.id, ...engineFields(served, job), ...last_words })
  await cancelQuietly(ctx, served.engine, { id: job.id, ticket: rendering.ticket })
  return { to: 'failed', code: 'render_timeout' }
}

/** For the log alone: what the engine says of a render whose time is over, and how far the render was known to be. */
async function lastWords(
  job: Job,
  { served, attempt }: { served: ServedModel; attempt: RenderAttempt },
  signal: AbortSignal,
): Promise<LogFields> {
  const known = `At ${job.progress} %, last heard of ${heardAt(attempt).toISOString()}.`
  try {
    const limit = { signal, seconds: LAST_POLL_SECONDS }
    const last = await withTimeLimit(limit, (over) => served.engine.poll(attempt.ticket, over))
    const word = last.state === 'running' ? (last.unknown_status ?? attempt.engine_status) : null
    const state = last.state === 'failed' ? `failed (${reasonOf(last.error)})` : last.state
    return { detail: `${known} The engine says: ${word === null ? state : `${state} (${word})`}.` }
  } catch (error) {
    signal.throwIfAborted()
    const { detail, ...fault } = describeFault(error)
    return { ...fault, detail: `${known} The engine does not say more.${detail === undefined ? '' : ` ${detail}`}` }
  }
}

/** When the engine last said something usable of it, as far as that is stored. */
function heardAt({ last_heard_at, answered_at, created_at }: RenderAttempt): Date {
  return last_heard_at ?? answered_at ?? created_at
}

type Polled = { served: ServedModel; attempt: RenderAttempt; left_seconds: number }

/** Polls the engine once. */
async function pollRender(ctx: Context, job: Job, polled: Polled, signal: AbortSignal): Promise<Outcome> {
  const { served, attempt, left_seconds } = polled
  const { engine } = served
  let state: RenderState
  try {
    state = await withTimeLimit({ signal, seconds: POLL_SECONDS }, (limit) => engine.poll(attempt.ticket, limit))
  } catch (error) {
    signal.throwIfAborted()
    return keepPolling(ctx, job, error)
  }
  switch (state.state) {
    case 'running':
      return stillRunning(ctx, job, { served, attempt, state })
    case 'lost':
      return missingRender(ctx, job, polled)
    case 'failed':
      return failedRender(ctx, job, polled, state.error)
    case 'succeeded': {
      const { output } = state
      // The fetch may outlast the limit: a restart meanwhile must not take the clip for late.
      if (left_seconds < FETCH_SECONDS)
        return { to: 'same', retry_after_seconds: 0, set: { tries: 0 }, attempt: asDelivered(ctx, attempt, output) }
      return withinStage(ctx, job, 'storing', () => collectOutput(ctx, job, { engine, attempt, output }, signal))
    }
  }
}

/** Cancels a render at the engine on a best effort basis; errors are logged and change nothing for the job. */
export async function cancelQuietly(
  ctx: Pick<Context, 'log'>,
  engine: VideoEngine,
  { id, ticket }: { id: string; ticket: Ticket },
): Promise<void> {
  try {
    await engine.cancel(ticket)
  } catch (error) {
    ctx.log.warn('engine_cancel_failed', { video_id: id, ...describeFault(error) })
  }
}

/**
 * The render goes on. What the engine said is usable when it is understood, or at least not what it said before: a word that we do not know
 * and that never changes may be of an engine that hangs.
 */
function stillRunning(
  ctx: Context,
  job: Job,
  {
    served,
    attempt,
    state,
  }: { served: ServedModel; attempt: RenderAttempt; state: RenderState & { state: 'running' } },
): Outcome {
  const word = state.unknown_status ?? null
  if (word !== null && attempt.engine_status === null) {
    const { engine } = engineFields(served, job)
    ctx.log.warn('unknown_render_status', { video_id: job.id, engine, detail: word })
  }
  const progress = Math.min(99, Math.max(job.progress, Math.floor(state.progress ?? 0)))
  const isNews = word !== null && word !== attempt.engine_status
  const isUsable = word === null || isNews || progress > job.progress
  const set = {
    ...(isUsable && secondsSince(ctx, heardAt(attempt)) >= HEARD_EVERY_SECONDS && { last_heard_at: ctx.clock.now() }),
    ...(attempt.missing_since !== null && { missing_since: null }),
    ...(isNews && { engine_status: word }),
  }
  return {
    to: 'same',
    retry_after_seconds: state.next_poll_seconds ?? POLL_EVERY_SECONDS,
    set: { progress, tries: 0 },
    ...(Object.keys(set).length > 0 && { attempt: { attempt, set } }),
  }
}

/** The engine says that it does not know the render. Renders of embedded engines are lost with every restart of the service. */
async function missingRender(ctx: Context, job: Job, { served, attempt }: Polled): Promise<Outcome> {
  const now = ctx.clock.now()
  const missing_since = attempt.missing_since ?? now
  const embedded = isEmbedded(served)
  if (!embedded && secondsSince(ctx, missing_since) < LOST_SECONDS) {
    const move = { attempt, set: { missing_since } }
    return { to: 'same', retry_after_seconds: POLL_EVERY_SECONDS, set: { tries: 0 }, attempt: move }
  }
  ctx.log.warn('render_lost', { video_id: job.id, attempt_id: attempt.id, count: attempt.number })
  // It may be the list of renders that was lost, and not the render.
  if (!embedded) await cancelQuietly(ctx, served.engine, { id: job.id, ticket: attempt.ticket })
  const ended = ends(attempt, { state: 'lost', because: 'The engine no longer knows it.', now })
  return restart(ctx, ended, { served, pause_seconds: 0 })
}

async function failedRender(ctx: Context, job: Job, { served, attempt }: Polled, error: EngineError): Promise<Outcome> {
  ctx.log.warn('render_failed', { video_id: job.id, ...describeFault(error) })
  const ended = ends(attempt, { state: 'failed', because: reasonOf(error), now: ctx.clock.now() })
  const failure = renderFailure(error)
  if (failure) return { to: 'failed', code: failure, attempt: ended }
  return restart(ctx, ended, { served, pause_seconds: backoffSeconds(attempt.number, error) })
}

/** One more start after a render of which nothing will come, unless the job has had all that it may have. */
async function restart(
  ctx: Context,
  ended: AttemptMove,
  { served, pause_seconds }: { served: ServedModel; pause_seconds: number },
): Promise<Outcome> {
  if (!mayStartAgain(moved(ended), { embedded: isEmbedded(served) })) return giveUp(ctx, ended)
  return { to: 'same', retry_after_seconds: pause_seconds, set: { tries: 0 }, attempt: ended }
}
