import { openRunCharge } from '../../billing/meter.ts'
import type { Context } from '../../context.ts'
import { recheckPrincipal } from '../../identity/caller/authenticate.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import { addSeconds } from '../../platform/clock.ts'
import { ApiError } from '../../platform/errors.ts'
import { failpoint } from '../../platform/failpoint.ts'
import type { ResponseCall, ResponseDeps } from '../call.ts'
import { failResponse, type ResponseEvent } from '../events/event.ts'
import { type ResponseRun, startRun } from '../run.ts'
import type { InputItem } from '../schema/items.ts'
import type { ResponseObject } from '../schema/response.ts'
import { endAsCancelled } from '../stored/cancel.ts'
import { recordEnds } from '../stored/ends.ts'
import { endResponse } from '../stored/store/end.ts'
import { deleteEventsFrom, nextEventNumber, readAllEvents } from '../stored/store/events.ts'
import { listAllInput } from '../stored/store/items.ts'
import { lockResponse, markInProgress, RESPONSE_TOPIC } from '../stored/store/responses.ts'
import type { ClaimedResponse } from './claims.ts'
import { ClaimLost, openEventRecorder } from './event-recorder.ts'
import { finishRun } from './finish-run.ts'

/** Runs that may be lost to crashes before the response fails. */
const ATTEMPTS_MAX = 3
/** Time a run has beyond the time limit of its engine, for history, files and the database. */
export const SLACK_SECONDS = 60
/** The first event of a run: `created` and `queued`, 0 and 1, were stored with the response. */
const FIRST_RUN_EVENT = 2

/** Reason of the abort that ends a response as cancelled. After any other abort the response may be run again. */
export const CANCELLED = new Error('the response was cancelled')

/**
 * Runs a claimed background response to its end, which is written once. When `signal` aborts with `CANCELLED`, the response ends as
 * cancelled; for any other reason, or when the database fails or the claim is lost, it throws and the response may be run again.
 */
export async function runClaimed(
  ctx: Context,
  deps: ResponseDeps,
  claimed: ClaimedResponse,
  signal: AbortSignal,
): Promise<void> {
  const problem = reasonNotToRun(ctx, claimed)
  if (problem === 'cancelled') return endWithoutRun(ctx, claimed, null)
  if (problem) return endWithoutRun(ctx, claimed, problem)
  const principal = await currentPrincipal(ctx, claimed)
  if (principal instanceof ApiError) return endWithoutRun(ctx, claimed, principal)
  await beginAttempt(ctx, claimed)
  failpoint('response_begun')
  const charge = openRunCharge(deps.meter)
  const finished = await runToEnd(ctx, { ...deps, meter: charge.meter }, { claimed, principal }, signal)
  failpoint('before_response_end')
  await finishRun(ctx, deps.meter, { claimed, ...finished, used: charge.used() })
  failpoint('after_response_end')
  ctx.changes.announce(RESPONSE_TOPIC, claimed.id)
}

function reasonNotToRun(
  ctx: Pick<Context, 'clock' | 'config'>,
  claimed: ClaimedResponse,
): ApiError | 'cancelled' | null {
  const { cancel_requested_at, attempts, created_at } = claimed
  if (cancel_requested_at) return 'cancelled'
  if (attempts > ATTEMPTS_MAX) {
    return new ApiError(
      'server_error',
      'The service was interrupted repeatedly while it worked on this response. Try again.',
    )
  }
  if (ctx.clock.now() > addSeconds(created_at, ctx.config.limits.queue_seconds)) {
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
  const lease = ctx.budget.open(claimed.org_id, { patient: true })
  if (over.aborted) lease.end()
  else over.addEventListener('abort', () => lease.end())
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
    run = await startRun(ctx, deps, { ...(await callOf(ctx, claimed, principal)), lease, save }, over)
    for (let events: readonly ResponseEvent[] | null = run.first; events; events = await run.next()) {
      if (saved) last.push(...events)
      else await recorder.record(events)
    }
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
): Promise<Omit<ResponseCall, 'lease'>> {
  const { id, request_id, request, body } = claimed
  // Stored items are normalized input items.
  const input = (await listAllInput(ctx.db, claimed, id)) as InputItem[]
  return { principal, request_id, body: { ...request, input }, queued: { ...body, status: 'queued', output: [] } }
}
