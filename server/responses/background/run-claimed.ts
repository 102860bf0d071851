import { openRunCharge } from '../../billing/meter.ts'
import type { Context } from '../../context.ts'
import { recheckPrincipal } from '../../identity/caller/authenticate.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import { addSeconds } from '../../platform/clock.ts'
import { isDatabaseDown } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { leaseUntilLeft } from '../../platform/http/body/byte-budget.ts'
import { backoffSeconds } from '../../platform/queue/backoff.ts'
import type { ResponseCall, ResponseDeps } from '../call.ts'
import { failResponse, type ResponseEvent } from '../events/event.ts'
import { type ResponseRun, startRun, whyLater } from '../run.ts'
import type { InputItem } from '../schema/items.ts'
import type { ResponseObject } from '../schema/response.ts'
import { endAsCancelled } from '../stored/cancel.ts'
import { recordEnds } from '../stored/ends.ts'
import { endResponse } from '../stored/store/end.ts'
import { deleteEventsFrom, nextEventNumber, readAllEvents } from '../stored/store/events.ts'
import { listAllInput } from '../stored/store/items.ts'
import { lockResponse, markInProgress, RESPONSE_TOPIC } from '../stored/store/responses.ts'
import { type ClaimedResponse, putOff } from './claims.ts'
import { ClaimLost, openEventRecorder } from './event-recorder.ts'
import { finishRun } from './finish-run.ts'

/** Runs that may be lost to crashes, of the service or its engine, before the response fails. */
const ATTEMPTS_MAX = 3
/** Time a run has beyond the time limit of its engine, for history, files and the database. */
export const SLACK_SECONDS = 60
/** The first event of a run: `created` and `queued`, 0 and 1, were stored with the response. */
const FIRST_RUN_EVENT = 2

/** Reason of the abort that ends a response as cancelled. After any other abort the response may be run again. */
export const CANCELLED = new Error('the response was cancelled')

/**
 * Runs a claimed background response to its end, which is written once, or puts it off and returns why: while nothing of the answer has
 * come, what is away (its engine, the storage, room in memory) is waited for, until the time to wait is over. When `signal` aborts with
 * `CANCELLED`, the response ends as cancelled; for any other reason, or when the database fails or the claim is lost, it throws and the
 * response may be run again.
 */
export async function runClaimed(
  ctx: Context,
  deps: ResponseDeps,
  claimed: ClaimedResponse,
  signal: AbortSignal,
): Promise<null | { put_off_by: unknown }> {
  const principal = reasonNotToRun(ctx, claimed) ?? (await currentPrincipal(ctx, claimed))
  if (principal === 'cancelled' || principal instanceof ApiError) {
    await endWithoutRun(ctx, claimed, principal === 'cancelled' ? null : principal)
    return null
  }
  await beginAttempt(ctx, claimed)
  failpoint('response_begun')
  const charge = openRunCharge(deps.meter)
  let finished: Finished
  try {
    finished = await runToEnd(ctx, { ...deps, meter: charge.meter }, { claimed, principal }, signal)
  } catch (error) {
    const why = signal.aborted || isDatabaseDown(error) ? null : whyLater(error)
    if (why === null) throw error
    // What ends its engine each time must not do so without end.
    if (why === 'lost' && claimed.attempts >= ATTEMPTS_MAX) await endWithoutRun(ctx, claimed, error as ApiError)
    else await runLater(ctx, claimed, { error, counts: why === 'lost' })
    return { put_off_by: error }
  }
  failpoint('before_response_end')
  await finishRun(ctx, deps.meter, { claimed, ...finished, used: charge.used() })
  failpoint('after_response_end')
  ctx.changes.announce(RESPONSE_TOPIC, claimed.id)
  return null
}

/** Writes when the response is due again: after a growing pause, at the latest when its time to wait is over. */
async function runLater(
  ctx: Context,
  claimed: ClaimedResponse,
  { error, counts }: { error: unknown; counts: boolean },
): Promise<void> {
  const { request_id, waits } = claimed
  const again = addSeconds(ctx.clock.now(), backoffSeconds(waits, error))
  const last = lastStart(ctx, claimed)
  const due = again < last ? again : last
  if (!(await putOff(ctx.db, claimed, { due, counts }))) throw new ClaimLost('another worker has this response')
  ctx.log.warn('response_put_off', { request_id, count: waits + 1, error })
}

function lastStart({ config }: Pick<Context, 'config'>, { created_at }: ClaimedResponse): Date {
  return addSeconds(created_at, config.limits.response_queue_seconds)
}

function reasonNotToRun(
  ctx: Pick<Context, 'clock' | 'config'>,
  claimed: ClaimedResponse,
): ApiError | 'cancelled' | null {
  const { cancel_requested_at, attempts } = claimed
  if (cancel_requested_at) return 'cancelled'
  if (attempts > ATTEMPTS_MAX) {
    return new ApiError(
      'server_error',
      'The service was interrupted repeatedly while it worked on this response. Try again.',
    )
  }
  if (ctx.clock.now() > lastStart(ctx, claimed)) {
    return new ApiError('server_is_overloaded', 'The response could not be started in time. Try again later.')
  }
  return null
}

/** The principal of the request with their rights of today; an ApiError when they may no longer make it. */
async function currentPrincipal(ctx: Pick<Context, 'db'>, claimed: ClaimedResponse): Promise<Principal | ApiError> {
  try {
    return await recheckPrincipal(ctx.db, claimed)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

/** Ends a response without running it: as failed, or as cancelled when `error` is null. Events of earlier attempts are kept. */
async function endWithoutRun(ctx: Context, claimed: ClaimedResponse, error: ApiError | null): Promise<void> {
  const now = ctx.clock.now()
  const announce = await ctx.db.transaction().execute(async (tx) => {
    const row = await lockResponse(tx, claimed, claimed.id)
    if (row?.claim_id !== claimed.claim_id) throw new ClaimLost('another worker has this response')
    if (error === null) return endAsCancelled(ctx, tx, { row, now })
    const response = { ...row.body, output: [] }
    const first_number = nextEventNumber(await readAllEvents(tx, row.id))
    const events = failResponse(response, error, { sequence_number: first_number }).map(({ data }) => data)
    await endResponse(tx, row, { response, last: { first_number, events }, now })
    return recordEnds(ctx, tx, { ended: [{ org_id: row.org_id, response }], now })
  })
  announce()
  ctx.changes.announce(RESPONSE_TOPIC, claimed.id)
}

/** Deletes the events of an earlier attempt: this one emits its own, with the same item ids. */
async function beginAttempt(ctx: Pick<Context, 'db'>, claimed: ClaimedResponse): Promise<void> {
  await ctx.db.transaction().execute(async (tx) => {
    if (!(await markInProgress(tx, claimed))) throw new ClaimLost('another worker has this response')
    await deleteEventsFrom(tx, claimed.id, FIRST_RUN_EVENT)
  })
}

/** A response that has ended and its last events, which are written together with its end. */
type Finished = { response: ResponseObject; last: ResponseEvent[] }

async function runToEnd(
  ctx: Context,
  deps: ResponseDeps,
  { claimed, principal }: { claimed: ClaimedResponse; principal: Principal },
  signal: AbortSignal,
): Promise<Finished> {
  const seconds = ctx.config.limits.upstream_total_seconds + SLACK_SECONDS
  const timeout = AbortSignal.timeout(Math.ceil(seconds * 1000))
  const writeFailed = new AbortController()
  const recorder = openEventRecorder(ctx, claimed, (error) => writeFailed.abort(error))
  const over = AbortSignal.any([signal, timeout, writeFailed.signal])
  const lease = leaseUntilLeft(ctx.budget, claimed.org_id, over)
  let saved = false
  const last: ResponseEvent[] = []
  let run: ResponseRun | null = null
  try {
    // What was aborted while it waited for room ends below as any other.
    await lease.add(Number(claimed.size_bytes))?.catch((error: unknown) => {
      if (!over.aborted) throw error
    })
    const save = async () => {
      saved = true
    }
    run = await startRun(ctx, deps, { ...(await callOf(ctx, claimed, principal)), lease, kept: lease, save }, over)
    for (let events: readonly ResponseEvent[] | null = run.first; events; events = await run.next()) {
      if (saved) last.push(...events)
      else await recorder.record(events)
    }
  } catch (error) {
    // Nothing is written once the claim is given back.
    await recorder.flush().catch(() => {})
    throw error
  } finally {
    await run?.stop()
    lease.end()
  }
  await recorder.flush()
  const cancelled = signal.aborted && signal.reason === CANCELLED
  if (run.response.status === 'cancelled' && !cancelled && !timeout.aborted) throw over.reason
  return timeout.aborted && !cancelled ? asTimedOut(run.response, last) : { response: run.response, last }
}

/** A run that was aborted by its timeout has ended as cancelled; the response is failed instead. */
function asTimedOut(response: ResponseObject, last: ResponseEvent[]): Finished {
  if (response.status !== 'cancelled') return { response, last }
  const error = new ApiError(
    'upstream_timeout',
    'The response took longer than its time limit. Try again, or ask for less.',
  )
  const failed = { ...response }
  const { sequence_number } = last.at(-1)!
  const failure = failResponse(failed, error, { sequence_number })
  return { response: failed, last: [...last.slice(0, -1), ...failure] }
}

async function callOf(
  ctx: Context,
  claimed: ClaimedResponse,
  principal: Principal,
): Promise<Omit<ResponseCall, 'lease' | 'kept'>> {
  const { id, request_id, request, body } = claimed
  // Stored items are normalized input items.
  const input = (await listAllInput(ctx.db, claimed, id)) as InputItem[]
  return { principal, request_id, body: { ...request, input }, queued: { ...body, status: 'queued', output: [] } }
}
