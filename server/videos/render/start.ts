import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { Context } from '../../context.ts'
import { EngineError } from '../../engines/engine-error.ts'
import type { RenderRequest, Ticket } from '../../engines/video/contract.ts'
import { pinFiles } from '../../files/store/pins.ts'
import { isUniqueViolation } from '../../platform/db/db.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { newId } from '../../platform/ids.ts'
import { findInputs } from '../inputs.ts'
import { type JobChanges, type Outcome, STARTS_UNKNOWN_MAX, unknownStart } from '../job.ts'
import { type Allowed, findAllowedOf, textDigest } from '../moderation/records.ts'
import { advance } from '../pipeline/advance.ts'
import { backoffSeconds, describeFault, notAfter, renderFailure, secondsSince } from '../pipeline/retry.ts'
import { type VideoJobRow, writeJobs } from '../store.ts'
import { recoverRender } from './recover.ts'
import { buildRequest, fileGone } from './request.ts'
import { engineFields, type ServedModel, servedModel } from './served-model.ts'

/** Wait of a start while an equal one is unanswered. */
const EQUAL_START_SECONDS = 3

/**
 * Has the engine start the render, once: the intent is written before the engine is called. An attempt that was begun and has no
 * ticket is settled first, by the means the engine offers. Source: docs/engines.md, starting once.
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
  const attempt = begunAttempt(job) ?? newAttempt(ctx)
  const request = await buildRequest(ctx, job, { files, served, attempt_id: attempt.id })
  if ('to' in request) return request
  await requireAllowed(ctx, job)
  signal.throwIfAborted()
  if (job.attempt_id === null || repeatable(served)) return start(ctx, job, { served, request, attempt })

  const settled = await recoverRender(ctx, job, { served, request, since: attempt.started_at })
  if ('to' in settled) return settled
  if ('found' in settled) return started(withoutUnknown(job), settled.found, { served, request })
  const next = newAttempt(ctx)
  const again = await buildRequest(ctx, job, { files, served, attempt_id: next.id })
  if ('to' in again) return again
  return start(ctx, job, { served, request: again, attempt: next, unknown_starts: settled.unknown_starts })
}

type Attempt = { id: string; started_at: Date }
type Start = { served: ServedModel; request: RenderRequest; attempt: Attempt; unknown_starts?: number }

/** Writes the intent and calls the engine. */
async function start(ctx: Context, job: VideoJobRow, begin: Start): Promise<Outcome> {
  const { served, request, attempt, unknown_starts = job.unknown_starts } = begin
  assert(unknown_starts < STARTS_UNKNOWN_MAX, 'a third start')
  const intent: JobChanges = {
    ...{ attempt_id: attempt.id, attempt_started_at: attempt.started_at, attempts: job.attempts + 1 },
    ...{ start_unknown: false, unknown_starts, start_key: startKey(ctx, served, request) },
  }
  try {
    if (!(await writeIntent(ctx, job, intent))) return { to: 'same', retry_after_seconds: 1 }
  } catch (error) {
    if (error instanceof InputGone) return fileGone(job)
    // The engine's list could not distinguish this start from the other.
    if (!isUniqueViolation(error, 'video_jobs_starting')) throw error
    return { to: 'same', retry_after_seconds: EQUAL_START_SECONDS }
  }
  failpoint('attempt_written')
  try {
    // Not aborted by a cancellation: a render that was begun can only be stopped by its ticket.
    const ticket = await served.engine.start(request, new AbortController().signal)
    failpoint('engine_started')
    return started({ ...job, ...intent }, ticket, { served, request })
  } catch (error) {
    return startFailed(ctx, { ...job, ...intent }, { served, error, intent })
  }
}

/** Writes the intent and pins the files: from here on the job counts as submitted. False when another worker came first. Throws InputGone. */
async function writeIntent(ctx: Context, job: VideoJobRow, intent: JobChanges): Promise<boolean> {
  const { id: holder, org_id, inputs } = job
  if (inputs.length === 0)
    return (await advance(ctx, job, { to: 'same', retry_after_seconds: 0, set: intent })) !== null
  const ids = inputs.map(({ file_id }) => file_id)
  return ctx.db.transaction().execute(async (tx) => {
    if ((await writeJobs(tx, [{ job, set: intent }])).size === 0) return false
    if (!(await pinFiles(tx, { holder, org_id, ids, now: ctx.clock.now() }))) throw new InputGone()
    return true
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
    ...{ tries: 0, start_unknown: false, unknown_starts },
  }
  const render_key = served.engine.renderKey?.(ticket)
  const named = render_key === undefined ? {} : { render_key }
  return job.status === 'queued'
    ? { to: 'in_progress', set, ...named }
    : { to: 'same', retry_after_seconds: 0, set, ...named }
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
  const list = served.engine.listKey?.(request) ?? null
  if (list === null) return null
  const { model, prompt, seconds } = request
  return createHmac('sha256', `render-start:${ctx.secret}`)
    .update(JSON.stringify([list, model, prompt, seconds]))
    .digest('base64url')
}

function startFailed(
  ctx: Context,
  job: VideoJobRow,
  { served, error, intent }: { served: ServedModel; error: unknown; intent: JobChanges },
): Outcome {
  if (!(error instanceof EngineError)) throw error
  ctx.log[error.kind === 'permanent' ? 'error' : 'warn']('start_failed', {
    ...{ video_id: job.id, ...engineFields(served, job) },
    ...describeFault(error),
  })
  const failure = renderFailure(error)
  if (failure) return { to: 'failed', code: failure }
  const retry_after_seconds = backoffSeconds(job.tries, error)
  const tries = job.tries + 1
  // Once a render had begun, a later attempt may need the files.
  const unpin = error.not_begun && job.status === 'queued' ? ({ unpin: true } as const) : {}
  if (repeatable(served)) return { to: 'same', retry_after_seconds, set: { ...intent, tries }, ...unpin }
  const settled = error.not_begun ? { attempt_id: null, attempt_started_at: null, start_key: null } : unknownStart(job)
  return { to: 'same', retry_after_seconds, set: { ...intent, tries, ...settled }, ...unpin }
}

/** Nothing reaches an engine without a stored `allow` for that exact text, by its digest under any secret, and those very files. */
async function requireAllowed(ctx: Context, job: VideoJobRow): Promise<void> {
  const allowed = await ctx.groups.join<string, Allowed | undefined>('moderation-records', job.id, async (ids) => {
    const found = await findAllowedOf(ctx.db, ids)
    return ids.map((id) => found.get(id))
  })
  const text = job.engine_prompt ?? job.prompt
  const isAllowed =
    allowed !== undefined &&
    ctx.secrets.some((secret) => allowed.text_digests.has(textDigest(secret, text))) &&
    job.inputs.every(({ sha256 }) => allowed.file_sha256s.has(sha256))
  assert(isAllowed, `${job.id} has no moderation record that allows its text and files`)
}
