import assert from 'node:assert/strict'
import type { Context } from '../context.ts'
import { EngineError, type RenderRequest, type Ticket } from '../engines/video.ts'
import { failpoint } from '../platform/failpoint.ts'
import { newId } from '../platform/ids.ts'
import { findInputs } from './inputs.ts'
import type { Outcome } from './job.ts'
import { textDigest, wasAllowed } from './moderation-records.ts'
import { buildRequest, fileGone } from './render-request.ts'
import { backoffSeconds, describeFault, notAfter, secondsSince } from './retry.ts'
import { type ServedModel, servedModel } from './served-model.ts'
import { changeJob, type VideoJobRow } from './store.ts'

/** Longest an engine may take to accept a render. An answer that does not come is not a refusal: the attempt is settled later. */
const START_SECONDS = 60

/**
 * Has the engine start the render, once: the intent is written before the engine is called. An attempt that was begun and has no
 * ticket is settled first, by whatever the engine offers for that. Source: docs/engines.md, starting once.
 */
export async function startRender(ctx: Context, job: VideoJobRow, signal: AbortSignal): Promise<Outcome> {
  const served = servedModel(ctx, job)
  if (!served) return { to: 'failed', code: 'render_failed' }
  if (job.status !== 'queued') return submit(ctx, job, served, signal)
  const left_seconds = ctx.config.limits.queue_seconds - secondsSince(ctx, job.queued_at!)
  if (left_seconds <= 0) return { to: 'failed', code: 'queue_timeout' }
  return notAfter(left_seconds, await submit(ctx, job, served, signal))
}

async function submit(ctx: Context, job: VideoJobRow, served: ServedModel, signal: AbortSignal): Promise<Outcome> {
  const files = await findInputs(ctx, job)
  if (!files) return fileGone(job)
  const unsettled = job.attempt_id !== null
  const attempt = chooseAttempt(ctx, job, served)
  const request = await buildRequest(ctx, job, { files, served, attempt_id: attempt.id })
  if ('to' in request) return request
  await requireAllowed(ctx, job)
  signal.throwIfAborted()

  try {
    const known = unsettled ? await findStarted(served, request, attempt.started_at) : null
    if (known !== null) return started(job, known, request)
    const intent = { attempt_id: attempt.id, attempt_started_at: attempt.started_at, attempts: job.attempts + 1 }
    if (!(await changeJob(ctx.db, job, { set: intent }))) return { to: 'same', retry_after_seconds: 1 }
    failpoint('attempt_written')
    // Not ended by a cancellation: a render that was begun can only be ended by its ticket.
    const ticket = await served.engine.start(request, AbortSignal.timeout(START_SECONDS * 1000))
    failpoint('engine_started')
    return started(job, ticket, request)
  } catch (error) {
    return startFailed(ctx, job, error)
  }
}

/** The render an attempt of unknown outcome has begun; null when there is none, or the engine cannot be asked. */
async function findStarted({ engine }: ServedModel, request: RenderRequest, since: Date): Promise<Ticket | null> {
  try {
    return (await engine.recover?.(request, since)) ?? null
  } catch (error) {
    if (error instanceof EngineError && error.kind !== 'transient') return null
    throw error
  }
}

/** The ticket is stored, beside the attempt it belongs to, with the same write that moves the job. */
function started(job: VideoJobRow, ticket: Ticket, { attempt_id, width, height }: RenderRequest): Outcome {
  const set = { ticket, attempt_id, width, height, tries: 0 }
  return job.status === 'queued' ? { to: 'in_progress', set } : { to: 'same', retry_after_seconds: 0, set }
}

/** An unsettled attempt keeps its id where the engine knows attempts by it; then starting again cannot render twice. */
function chooseAttempt(
  ctx: Context,
  job: VideoJobRow,
  { engine, model }: ServedModel,
): { id: string; started_at: Date } {
  const fresh = { id: newId('attempt', ctx.clock.now()), started_at: ctx.clock.now() }
  if (job.attempt_id === null) return fresh
  const begun = { id: job.attempt_id, started_at: job.attempt_started_at ?? fresh.started_at }
  return engine.capabilities(model).idempotency === 'none' && !engine.recover ? fresh : begun
}

function startFailed(ctx: Context, job: VideoJobRow, error: unknown): Outcome {
  const fault = describeFault(error)
  if (!(error instanceof EngineError) && !isTimeout(error)) throw error
  const kind = error instanceof EngineError ? error.kind : 'transient'
  ctx.log[kind === 'permanent' ? 'error' : 'warn']('start_failed', { video_id: job.id, ...fault })
  if (kind === 'moderation') return { to: 'failed', code: 'moderation_blocked' }
  if (kind === 'rejected' && (error as EngineError).subject) return { to: 'failed', code: 'invalid_reference_media' }
  if (kind !== 'transient') return { to: 'failed', code: 'render_failed' }
  return { to: 'same', retry_after_seconds: backoffSeconds(job.tries, error), set: { tries: job.tries + 1 } }
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')
}

/** Nothing reaches an engine without a stored `allow` for that exact text and those very files. */
async function requireAllowed(ctx: Context, job: VideoJobRow): Promise<void> {
  const text = job.engine_prompt ?? job.prompt
  const allowed = await wasAllowed(ctx.db, job.id, {
    text_digest: textDigest(ctx.secret, text),
    file_sha256s: job.inputs.map(({ sha256 }) => sha256),
  })
  assert(allowed, `${job.id} has no moderation record that allows its text and files`)
}
