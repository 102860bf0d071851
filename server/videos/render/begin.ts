import { createHmac } from 'node:crypto'
import type { Context } from '../../context.ts'
import { EngineError } from '../../engines/engine-error.ts'
import type { RenderRequest, Ticket } from '../../engines/video/contract.ts'
import { pinFiles } from '../../files/store/pins.ts'
import { isUniqueViolation } from '../../platform/db/db.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { backoffSeconds } from '../../platform/queue/backoff.ts'
import type { Outcome } from '../job.ts'
import { advance } from '../pipeline/advance.ts'
import { describeFault, reasonOf, renderFailure } from '../pipeline/retry.ts'
import { type Job, writeJobs } from '../pipeline/store.ts'
import { type AttemptMove, type Begun, ends, isBound, moved, newAttempt, type RenderAttempt } from './attempt.ts'
import { fileGone } from './request.ts'
import { engineAddress, engineFields, isEmbedded, type ServedModel } from './served-model.ts'
import { countRenders } from './store.ts'
import { watchInputs } from './watch-inputs.ts'

/** Wait of a start while an equal one is unanswered. */
const EQUAL_START_SECONDS = 3
/** Wait after another consumer has made this start: long enough that the consumer releases the job, and reads what became of it. */
const REREAD_SECONDS = 10
/** Wait for an engine that has as many renders as it may. */
const FULL_SECONDS = 3

/** `settled`: how the last start ended, written with the intent of this one. */
type Begin = { served: ServedModel; request: RenderRequest; settled?: AttemptMove | undefined }

/** How a start ended. `elsewhere`: it has begun nothing, so another engine may be asked; `job` is then the job as it is to be. */
export type Started = {
  outcome: Outcome
  job: Job
  elsewhere: boolean
  end: 'worked' | 'failed' | 'refused' | 'neutral'
  pause_seconds?: number | undefined
}

/** Writes the intent and asks the engine. */
export async function begin(ctx: Context, job: Job, { served, request, settled }: Begin): Promise<Started> {
  const begun = newAttempt(
    settled ? { ...job, attempt: moved(settled) } : job,
    {
      paid: !isEmbedded(served),
      engine: served.member.id,
      engine_address: engineAddress(served.member),
      start_key: startKey(ctx, served, request),
    },
    { id: request.attempt_id, now: ctx.clock.now() },
  )
  const notCalled = (outcome: Outcome, elsewhere = false): Started => ({ outcome, job, elsewhere, end: 'neutral' })
  try {
    const written = await writeIntent(ctx, job, { begun, settled, served })
    if (written === 'overtaken') return notCalled({ to: 'same', retry_after_seconds: 1 })
    if (written === 'full') return notCalled({ to: 'same', retry_after_seconds: FULL_SECONDS }, true)
  } catch (error) {
    if (error instanceof InputGone) return notCalled(fileGone(job))
    // The engine's list could not distinguish this start from the other.
    if (isUniqueViolation(error, 'video_attempts_starting'))
      return notCalled({ to: 'same', retry_after_seconds: EQUAL_START_SECONDS })
    if (!isUniqueViolation(error, 'video_attempts_number')) throw error
    return notCalled({ to: 'same', retry_after_seconds: REREAD_SECONDS })
  }
  failpoint('attempt_written')
  const { attempt } = begun
  return startAtEngine(ctx, { ...job, attempt_id: attempt.id, attempt }, { served, request, attempt })
}

type Asked = { served: ServedModel; request: RenderRequest; attempt: RenderAttempt }

/** Has the engine start the render, for a start whose intent is written. */
export async function startAtEngine(ctx: Context, job: Job, asked: Asked): Promise<Started> {
  const sent = watchInputs(asked.request)
  try {
    // Not aborted by a cancellation: a render that was begun can only be stopped by its ticket.
    const ticket = await asked.served.engine.start(sent.request, new AbortController().signal)
    failpoint('engine_started')
    return { outcome: started(ctx, job, { ...asked, ticket }), job, elsewhere: false, end: 'worked' }
  } catch (error) {
    const cause = sent.fault()
    if (cause === null) return startFailed(ctx, job, { ...asked, error })
    // The engine never had the whole request, so it has begun nothing; nor is it to blame.
    ctx.log.warn('inputs_not_read', { video_id: job.id, error: cause })
    const unread = new EngineError('transient', 'An input could not be read.', { not_begun: true, cause })
    return { outcome: startAgain(ctx, job, { ...asked, error: unread }), job, elsewhere: false, end: 'neutral' }
  }
}

/**
 * Writes the intent and pins the files: from here on the job counts as submitted. `overtaken` when another consumer came first, `full` when the
 * engine has as many renders as it may. Throws InputGone.
 */
async function writeIntent(
  ctx: Context,
  job: Job,
  { begun, settled, served }: { begun: Begun; settled: AttemptMove | undefined; served: ServedModel },
): Promise<'written' | 'overtaken' | 'full'> {
  const { id: holder, org_id, inputs, model } = job
  const { id: engine, renders_max } = served.member
  const intent = { begin: begun, ...(settled && begun.replaces === null && { attempt: settled }) }
  if (inputs.length === 0 && (renders_max === null || engine === null)) {
    const applied = await advance(ctx, job, { to: 'same', retry_after_seconds: 0, ...intent })
    return applied === null ? 'overtaken' : 'written'
  }
  const ids = inputs.map(({ file_id }) => file_id)
  return ctx.db.transaction().execute(async (tx) => {
    if (renders_max !== null && engine !== null) {
      if ((await countRenders(tx, { model, engine, job_id: holder })) >= renders_max) return 'full'
    }
    const set = { attempt_id: begun.attempt.id }
    if ((await writeJobs(tx, [{ job, set, ...intent }])).size === 0) return 'overtaken'
    const pinned = ids.length === 0 || (await pinFiles(tx, { holder, org_id, ids, now: ctx.clock.now() }))
    if (!pinned) throw new InputGone()
    return 'written'
  })
}

/** A file was deleted between the preflight and the start. */
class InputGone extends Error {}

/** The outcome that stores the ticket, in the write that moves the job. */
export function started(
  ctx: Context,
  { status }: Job,
  { served, request, attempt, ticket }: Asked & { ticket: Ticket },
): Outcome {
  const { engine, member } = served
  const known = {
    state: 'rendering' as const,
    ticket,
    render_key: engine.renderKey?.(ticket) ?? null,
    start_key: null,
    engine: member.id,
    engine_address: engineAddress(member),
    answered_at: ctx.clock.now(),
  }
  const { width, height } = request
  const move = { set: { width, height, tries: 0 }, attempt: { attempt, set: known } }
  return status === 'queued' ? { to: 'in_progress', ...move } : { to: 'same', retry_after_seconds: 0, ...move }
}

/** Equal for starts that the engine's list could not distinguish: those are made one at a time. Null for engines without a list. */
function startKey(ctx: Pick<Context, 'secret'>, served: ServedModel, request: RenderRequest): string | null {
  const key = served.engine.listKey?.(request) ?? null
  return key === null ? null : createHmac('sha256', `render-start:${ctx.secret}`).update(key).digest('base64url')
}

function startFailed(ctx: Context, job: Job, { error, ...asked }: Asked & { error: unknown }): Started {
  if (!(error instanceof EngineError)) throw error
  const { served, attempt } = asked
  ctx.log[error.kind === 'permanent' ? 'error' : 'warn']('start_failed', {
    video_id: job.id,
    ...engineFields(served, job),
    ...describeFault(error),
  })
  const failure = renderFailure(error)
  // What the engine refuses of this request, another would most likely refuse too; what it cannot do now, another may.
  const elsewhere = error.not_begun && job.status === 'queued' && (failure === null || error.kind === 'permanent')
  const end = error.kind === 'permanent' ? 'refused' : failure === null ? 'failed' : 'worked'
  const state = beganNothing(attempt, error) ? 'not_begun' : 'failed'
  const ended = ends(attempt, { state, because: reasonOf(error), now: ctx.clock.now() })
  const after = elsewhere ? { ...job, attempt: moved(ended) } : job
  const rest = { job: after, elsewhere, end, pause_seconds: error.retry_after_seconds } as const
  if (failure) return { outcome: { to: 'failed', code: failure, attempt: ended }, ...rest }
  return { outcome: startAgain(ctx, job, { ...asked, error }), ...rest }
}

/** An engine that refuses now may have begun the render when it was asked before. */
function beganNothing({ state }: RenderAttempt, { not_begun }: EngineError): boolean {
  return not_begun && state !== 'unknown'
}

/** The outcome of a start that may be made again. */
function startAgain(ctx: Context, job: Job, { attempt, error }: Asked & { error: EngineError }): Outcome {
  const retry_after_seconds = backoffSeconds(job.tries, error)
  const again = { to: 'same' as const, retry_after_seconds, set: { tries: job.tries + 1 } }
  if (!beganNothing(attempt, error)) return { ...again, attempt: { attempt, set: { state: 'unknown' } } }
  const ended = ends(attempt, { state: 'not_begun', because: reasonOf(error), now: ctx.clock.now() })
  // Once a render had begun, a later attempt may need the files.
  const unbound = job.status === 'queued' && !isBound(moved(ended))
  return { ...again, attempt: ended, ...(unbound && { unpin: true as const }) }
}
