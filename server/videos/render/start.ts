import type { Context } from '../../context.ts'
import { engineName } from '../../engines/measured.ts'
import type { PoolMember } from '../../engines/video/pool.ts'
import { unsupportedBy } from '../../engines/video/reject-unsupported.ts'
import { newId } from '../../platform/ids.ts'
import { findInputs, type JobFile } from '../inputs.ts'
import type { Outcome } from '../job.ts'
import { requireAllowed } from '../moderation/check-allowed.ts'
import { notAfter, secondsSince } from '../pipeline/retry.ts'
import type { Job } from '../pipeline/store.ts'
import { type AttemptMove, isBound, type RenderAttempt } from './attempt.ts'
import { begin, type Started, startAtEngine, started } from './begin.ts'
import { recoverRender } from './recover.ts'
import { buildRequest, fileGone } from './request.ts'
import { isRepeatable, modelOf, type ServedModel, servedModel, serveOn, unserved } from './served-model.ts'

/**
 * Has the engine start the render, once: the intent is written before the engine is called. A start that was begun and has no
 * ticket is settled first, by the means the engine offers. Source: docs/engines.md, starting once.
 */
export async function startRender(ctx: Context, job: Job, signal: AbortSignal): Promise<Outcome> {
  const model = modelOf(ctx, job)
  if (!model) return unserved(ctx, job)
  if (job.status !== 'queued') return submit(ctx, job, model, signal)
  const left_seconds = ctx.config.limits.queue_seconds - secondsSince(ctx, job.queued_at!)
  if (left_seconds <= 0) {
    const detail = job.attempt?.ended_because ?? 'No engine was asked.'
    ctx.log.warn('queue_timeout', { video_id: job.id, engine: job.attempt?.engine ?? undefined, detail })
    return { to: 'failed', code: 'queue_timeout' }
  }
  return notAfter(left_seconds, await submit(ctx, job, model, signal))
}

type Model = NonNullable<ReturnType<typeof modelOf>>

async function submit(ctx: Context, job: Job, model: Model, signal: AbortSignal): Promise<Outcome> {
  const files = await findInputs(ctx, job)
  if (!files) return fileGone(job)
  await requireAllowed(ctx, job)
  // A render that has begun, or may have, stays with its engine.
  if (!isBound(job.attempt) && job.status === 'queued') return startOnAny(ctx, job, { model, files }, signal)
  const served = servedModel(ctx, job)
  if (!served) return unserved(ctx, job)
  return startOnItsOwn(ctx, job, { served, files }, signal)
}

/** Starts the render on an engine that can take it; on the next one while those before have begun nothing. */
async function startOnAny(
  ctx: Context,
  job: Job,
  { model, files }: { model: Model; files: JobFile[] },
  signal: AbortSignal,
): Promise<Outcome> {
  const { pool, settings } = model
  const tried = new Set<PoolMember>()
  const results: Started[] = []
  let current = job
  for (;;) {
    const member = pool.pick((each) => canRender(each, job) && !isPaused(ctx, job, each), tried)
    if (member === null && results.length > 0) return lastResort(results, current)
    if (member === null) return pool.members.some((each) => canRender(each, job)) ? PAUSED : unserved(ctx, job)
    tried.add(member)
    let end: Parameters<typeof pool.report>[1] = 'neutral'
    try {
      const served = serveOn(member, settings)
      const request = await buildRequest(ctx, job, { files, served, attempt_id: newMark(ctx) })
      if ('to' in request) return request
      signal.throwIfAborted()
      const result = await begin(ctx, current, { served, request })
      end = result.end
      if (result.pause_seconds !== undefined) pool.pause(member, result.pause_seconds)
      if (!result.elsewhere) return result.outcome
      results.push(result)
      current = result.job
    } finally {
      pool.report(member, end)
    }
  }
}

/** What waits for an operator looks again so often. */
const PAUSED: Outcome = { to: 'same', retry_after_seconds: 5 }

function isPaused({ switches }: Pick<Context, 'switches'>, { model }: Pick<Job, 'model'>, { id }: PoolMember): boolean {
  return switches.isPaused(model, engineName({ model, id }))
}

function canRender({ engine, model }: PoolMember, job: Job): boolean {
  return unsupportedBy(engine.capabilities(model), job) === null
}

/** No engine took the render: it is tried again later unless every one of them refused for good. Nothing was begun. */
function lastResort(results: readonly Started[], { attempt, tries: former }: Job): Outcome {
  const later = results.flatMap(({ outcome }) => (outcome.to === 'same' ? [outcome] : []))
  // One that was called says how long to wait, and unpins the files.
  const again = later.find((each) => each.attempt !== undefined) ?? later[0]
  if (again === undefined) return results.at(-1)!.outcome
  const { tries = former } = again.set ?? {}
  // The row is that of the last engine that was called.
  return { ...again, set: { tries }, ...(attempt && { attempt: { attempt, set: endOf(attempt) } }) }
}

function endOf({ state, ended_because, ended_at, start_key }: RenderAttempt) {
  return { state, ended_because, ended_at, start_key }
}

/** Goes on with a start that has no ticket, or makes a new one after a render that failed or was lost. */
async function startOnItsOwn(
  ctx: Context,
  job: Job,
  { served, files }: { served: ServedModel; files: JobFile[] },
  signal: AbortSignal,
): Promise<Outcome> {
  const last = job.attempt?.ended_at === null ? job.attempt : null
  const paused = isPaused(ctx, job, served.member)
  const requestFor = (attempt_id: string) => buildRequest(ctx, job, { files, served, attempt_id })
  let settled: AttemptMove | undefined
  if (last) {
    const request = await requestFor(last.id)
    if ('to' in request) return request
    signal.throwIfAborted()
    // It may have been asked before.
    const asked = { ...last, state: 'unknown' as const }
    if (isRepeatable(served) && paused) return PAUSED
    if (isRepeatable(served)) return (await startAtEngine(ctx, job, { served, request, attempt: asked })).outcome
    const found = await recoverRender(ctx, job, { served, request, attempt: last })
    if ('to' in found) return found
    if ('ticket' in found) return started(ctx, job, { served, request, attempt: last, ticket: found.ticket })
    settled = found.ended
  }
  if (paused) return PAUSED
  const again = await requestFor(newMark(ctx))
  if ('to' in again) return again
  signal.throwIfAborted()
  return (await begin(ctx, job, { served, request: again, settled })).outcome
}

function newMark(ctx: Context): string {
  return newId('attempt', ctx.clock.now())
}
