import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { Context } from '../../context.ts'
import { EngineError } from '../../engines/engine-error.ts'
import type { RenderRequest, Ticket } from '../../engines/video/contract.ts'
import type { PoolMember } from '../../engines/video/pool.ts'
import { unsupportedBy } from '../../engines/video/refuse-unsupported.ts'
import { pinFiles } from '../../files/store/pins.ts'
import { isUniqueViolation } from '../../platform/db/db.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { newId } from '../../platform/ids.ts'
import { findInputs, type JobFile } from '../inputs.ts'
import { type JobChanges, type Outcome, STARTS_UNKNOWN_MAX, unknownStart } from '../job.ts'
import { requireAllowed } from '../moderation/check-allowed.ts'
import { advance } from '../pipeline/advance.ts'
import { backoffSeconds, describeFault, notAfter, renderFailure, secondsSince } from '../pipeline/retry.ts'
import { type VideoJobRow, writeJobs } from '../store.ts'
import { observeInputs } from './observe-inputs.ts'
import { recoverRender } from './recover.ts'
import { buildRequest, fileGone } from './request.ts'
import {
  engineAddress,
  engineFields,
  modelOf,
  type ServedModel,
  servedModel,
  serveOn,
  unserved,
} from './served-model.ts'
import { countRenders } from './store.ts'

/** Wait of a start while an equal one is unanswered. */
const EQUAL_START_SECONDS = 3
/** Wait for an engine that has as many renders as it may. */
const FULL_SECONDS = 3

/**
 * Has the engine start the render, once: the intent is written before the engine is called. An attempt that was begun and has no
 * ticket is settled first, by the means the engine offers. Source: docs/engines.md, starting once.
 */
export async function startRender(ctx: Context, job: VideoJobRow, signal: AbortSignal): Promise<Outcome> {
  const model = modelOf(ctx, job)
  if (!model) return unserved(ctx, job)
  if (job.status !== 'queued') return submit(ctx, job, model, signal)
  const left_seconds = ctx.config.limits.queue_seconds - secondsSince(ctx, job.queued_at!)
  if (left_seconds <= 0) return { to: 'failed', code: 'queue_timeout' }
  return notAfter(left_seconds, await submit(ctx, job, model, signal))
}

type Model = NonNullable<ReturnType<typeof modelOf>>

async function submit(ctx: Context, job: VideoJobRow, model: Model, signal: AbortSignal): Promise<Outcome> {
  const files = await findInputs(ctx, job)
  if (!files) return fileGone(job)
  await requireAllowed(ctx, job)
  // A render that has begun, or may have, stays with its engine.
  if (job.attempt_id === null && job.status === 'queued') return startOnAny(ctx, job, { model, files }, signal)
  const served = servedModel(ctx, job)
  if (!served) return unserved(ctx, job)
  return startOnItsOwn(ctx, job, { served, files }, signal)
}

/** Starts the render on an engine that can take it; on the next one while those before have begun nothing. */
async function startOnAny(
  ctx: Context,
  job: VideoJobRow,
  { model, files }: { model: Model; files: JobFile[] },
  signal: AbortSignal,
): Promise<Outcome> {
  const { pool, settings } = model
  const tried = new Set<PoolMember>()
  const results: Started[] = []
  let current = job
  for (;;) {
    const member = pool.pick((each) => canRender(each, job), tried)
    if (member === null) return results.length > 0 ? lastResort(results, current) : unserved(ctx, job)
    tried.add(member)
    let end: Parameters<typeof pool.report>[1] = 'neutral'
    try {
      const served = serveOn(member, settings)
      const attempt = newAttempt(ctx)
      const request = await buildRequest(ctx, job, { files, served, attempt_id: attempt.id })
      if ('to' in request) return request
      signal.throwIfAborted()
      const result = await start(ctx, current, { served, request, attempt })
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

function canRender({ engine, model }: PoolMember, job: VideoJobRow): boolean {
  return unsupportedBy(engine.capabilities(model), job) === null
}

/** No engine took the render: it is tried again later unless every one of them refused for good. Nothing was begun. */
function lastResort(results: readonly Started[], current: VideoJobRow): Outcome {
  const later = results.flatMap(({ outcome }) => (outcome.to === 'same' ? [outcome] : []))
  // One that was called says how long to wait, and unpins the files.
  const again = later.find(({ set }) => set !== undefined) ?? later[0]
  if (again === undefined) return results.at(-1)!.outcome
  const { tries = current.tries } = again.set ?? {}
  return { ...again, set: { ...NOT_BEGUN, attempts: current.attempts, tries } }
}

const NOT_BEGUN = { attempt_id: null, attempt_started_at: null, start_key: null, engine: null, engine_address: null }

/** Goes on with an attempt that was begun and has no ticket, or begins a new one after a render that failed or was lost. */
async function startOnItsOwn(
  ctx: Context,
  job: VideoJobRow,
  { served, files }: { served: ServedModel; files: JobFile[] },
  signal: AbortSignal,
): Promise<Outcome> {
  const attempt = begunAttempt(job) ?? newAttempt(ctx)
  const request = await buildRequest(ctx, job, { files, served, attempt_id: attempt.id })
  if ('to' in request) return request
  signal.throwIfAborted()
  if (job.attempt_id === null || repeatable(served))
    return (await start(ctx, job, { served, request, attempt })).outcome

  const settled = await recoverRender(ctx, job, { served, request, since: attempt.started_at })
  if ('to' in settled) return settled
  if ('found' in settled) return started(withoutUnknown(job), settled.found, { served, request })
  const next = newAttempt(ctx)
  const again = await buildRequest(ctx, job, { files, served, attempt_id: next.id })
  if ('to' in again) return again
  const { unknown_starts } = settled
  return (await start(ctx, job, { served, request: again, attempt: next, unknown_starts })).outcome
}

type Attempt = { id: string; started_at: Date }
type Start = { served: ServedModel; request: RenderRequest; attempt: Attempt; unknown_starts?: number }

/** How a start ended. `elsewhere`: it has begun nothing, so another engine may be asked; `job` is then the job as it is stored. */
type Started = {
  outcome: Outcome
  job: VideoJobRow
  elsewhere: boolean
  end: 'worked' | 'failed' | 'refused' | 'neutral'
  pause_seconds?: number | undefined
}

/** Writes the intent and calls the engine. */
async function start(ctx: Context, job: VideoJobRow, begin: Start): Promise<Started> {
  const { served, request, attempt, unknown_starts = job.unknown_starts } = begin
  assert(unknown_starts < STARTS_UNKNOWN_MAX, 'a third start')
  const intent: JobChanges = {
    ...{ attempt_id: attempt.id, attempt_started_at: attempt.started_at, attempts: job.attempts + 1 },
    ...{ start_unknown: false, unknown_starts, start_key: startKey(ctx, served, request), ...engineOf(served) },
  }
  const notCalled = (outcome: Outcome, elsewhere = false): Started => ({ outcome, job, elsewhere, end: 'neutral' })
  try {
    const written = await writeIntent(ctx, job, { intent, served })
    if (written === 'overtaken') return notCalled({ to: 'same', retry_after_seconds: 1 })
    if (written === 'full') return notCalled({ to: 'same', retry_after_seconds: FULL_SECONDS }, true)
  } catch (error) {
    if (error instanceof InputGone) return notCalled(fileGone(job))
    // The engine's list could not distinguish this start from the other.
    if (!isUniqueViolation(error, 'video_jobs_starting')) throw error
    return notCalled({ to: 'same', retry_after_seconds: EQUAL_START_SECONDS })
  }
  failpoint('attempt_written')
  const begun = { ...job, ...intent }
  const sent = observeInputs(request)
  try {
    // Not aborted by a cancellation: a render that was begun can only be stopped by its ticket.
    const ticket = await served.engine.start(sent.request, new AbortController().signal)
    failpoint('engine_started')
    return { outcome: started(begun, ticket, { served, request }), job: begun, elsewhere: false, end: 'worked' }
  } catch (error) {
    const cause = sent.fault()
    if (cause === null) return startFailed(ctx, begun, { served, error, intent })
    // The engine never had the whole request, so it has begun nothing; nor is it to blame.
    ctx.log.warn('inputs_not_read', { video_id: job.id, error: cause })
    const unread = new EngineError('transient', 'An input could not be read.', { not_begun: true, cause })
    const outcome = startAgain(begun, { served, error: unread, intent })
    return { outcome, job: begun, elsewhere: false, end: 'neutral' }
  }
}

/**
 * Writes the intent and pins the files: from here on the job counts as submitted. `overtaken` when another worker came first, `full` when the
 * engine has as many renders as it may. Throws InputGone.
 */
async function writeIntent(
  ctx: Context,
  job: VideoJobRow,
  { intent, served }: { intent: JobChanges; served: ServedModel },
): Promise<'written' | 'overtaken' | 'full'> {
  const { id: holder, org_id, inputs, model } = job
  const { id: engine, renders_max } = served.member
  // What the job has already counts: a new attempt takes no second place.
  const limit = renders_max !== null && engine !== null && job.engine !== engine ? renders_max : null
  if (inputs.length === 0 && limit === null) {
    const applied = await advance(ctx, job, { to: 'same', retry_after_seconds: 0, set: intent })
    return applied === null ? 'overtaken' : 'written'
  }
  const ids = inputs.map(({ file_id }) => file_id)
  return ctx.db.transaction().execute(async (tx) => {
    if (limit !== null && (await countRenders(tx, { model, engine: engine! })) >= limit) return 'full'
    if ((await writeJobs(tx, [{ job, set: intent }])).size === 0) return 'overtaken'
    const pinned = ids.length === 0 || (await pinFiles(tx, { holder, org_id, ids, now: ctx.clock.now() }))
    if (!pinned) throw new InputGone()
    return 'written'
  })
}

/** A file was deleted between the preflight and the start. */
class InputGone extends Error {}

/** The outcome that stores the ticket, with the attempt it belongs to, in the write that moves the job. */
function started(
  job: VideoJobRow,
  ticket: Ticket,
  { served, request }: { served: ServedModel; request: RenderRequest },
): Outcome {
  const { attempt_id, width, height } = request
  const { attempt_started_at, attempts, unknown_starts } = job
  const set = {
    ...{ ticket, attempt_id, attempt_started_at, attempts, start_key: null, width, height },
    ...{ tries: 0, start_unknown: false, unknown_starts, ...engineOf(served) },
  }
  const render_key = served.engine.renderKey?.(ticket)
  const named = render_key === undefined ? {} : { render_key }
  return job.status === 'queued'
    ? { to: 'in_progress', set, ...named }
    : { to: 'same', retry_after_seconds: 0, set, ...named }
}

function engineOf({ member }: ServedModel): Pick<VideoJobRow, 'engine' | 'engine_address'> {
  return { engine: member.id, engine_address: engineAddress(member) }
}

/** The job after the outcome of its last start was learned after all. */
function withoutUnknown(job: VideoJobRow): VideoJobRow {
  return job.start_unknown ? { ...job, unknown_starts: job.unknown_starts - 1 } : job
}

/** Whether the engine knows attempts by their id, so that starting one again cannot render twice. */
function repeatable({ engine, model }: ServedModel): boolean {
  return engine.capabilities(model).idempotency !== 'none'
}

function begunAttempt({ attempt_id, attempt_started_at, created_at }: VideoJobRow): Attempt | null {
  return attempt_id === null ? null : { id: attempt_id, started_at: attempt_started_at ?? created_at }
}

function newAttempt(ctx: Context): Attempt {
  const now = ctx.clock.now()
  return { id: newId('attempt', now), started_at: now }
}

/** Equal for starts that the engine's list could not distinguish: those are made one at a time. Null for engines without a list. */
function startKey(ctx: Pick<Context, 'secret'>, served: ServedModel, request: RenderRequest): string | null {
  const key = served.engine.listKey?.(request) ?? null
  return key === null ? null : createHmac('sha256', `render-start:${ctx.secret}`).update(key).digest('base64url')
}

function startFailed(
  ctx: Context,
  job: VideoJobRow,
  { served, error, intent }: { served: ServedModel; error: unknown; intent: JobChanges },
): Started {
  if (!(error instanceof EngineError)) throw error
  ctx.log[error.kind === 'permanent' ? 'error' : 'warn']('start_failed', {
    ...{ video_id: job.id, ...engineFields(served, job) },
    ...describeFault(error),
  })
  const failure = renderFailure(error)
  // What the engine refuses of this request, another would most likely refuse too; what it cannot do now, another may.
  const elsewhere = error.not_begun && job.status === 'queued' && (failure === null || error.kind === 'permanent')
  const end = error.kind === 'permanent' ? 'refused' : failure === null ? 'failed' : 'worked'
  const rest = { job, elsewhere, end, pause_seconds: error.retry_after_seconds } as const
  if (failure) return { outcome: { to: 'failed', code: failure }, ...rest }
  return { outcome: startAgain(job, { served, error, intent }), ...rest }
}

/** The outcome of a start that may be made again. */
function startAgain(
  job: VideoJobRow,
  { served, error, intent }: { served: ServedModel; error: EngineError; intent: JobChanges },
): Outcome {
  const retry_after_seconds = backoffSeconds(job.tries, error)
  const tries = job.tries + 1
  const unbound = error.not_begun && job.status === 'queued'
  // Once a render had begun, a later attempt may need the files.
  const unpin = unbound ? ({ unpin: true } as const) : {}
  if (repeatable(served) && !unbound) return { to: 'same', retry_after_seconds, set: { ...intent, tries } }
  const settled = error.not_begun
    ? { ...NOT_BEGUN, ...(unbound ? {} : { engine: job.engine, engine_address: job.engine_address }) }
    : unknownStart(job)
  return { to: 'same', retry_after_seconds, set: { ...intent, tries, ...settled }, ...unpin }
}
