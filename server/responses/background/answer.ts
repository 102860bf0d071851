import { openRunCharge } from '../../billing/run-charge.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import { recheckPrincipal } from '../../identity/caller/recheck.ts'
import { addSeconds } from '../../platform/clock.ts'
import { ApiError } from '../../platform/errors.ts'
import { failpoint } from '../../platform/failpoint.ts'
import type { EndedResponse, ResponseCall, ResponseDeps, ResponseEvent, ResponseRun } from '../call.ts'
import { failureEvents } from '../events/lines.ts'
import { errorView } from '../events/writer.ts'
import { RESPONSE_TOPIC } from '../queues.ts'
import type { InputItem } from '../schema/items.ts'
import type { ResponseObject } from '../schema/response.ts'
import { endAsCancelled } from '../stored/cancel.ts'
import { endResponse, lockResponse, markInProgress } from '../stored/store.ts'
import { deleteEventsFrom, insertEvents, readAllEvents } from '../stored/store-events.ts'
import { listAllInput } from '../stored/store-items.ts'
import type { ClaimedResponse } from './claims.ts'
import { ClaimLost, openTelling } from './record-events.ts'
import { endRun } from './write-ends.ts'

/** Begins to answer: `startResponse` of turn.ts. */
export type OpenRun = (ctx: Context, deps: ResponseDeps, call: ResponseCall, left: AbortSignal) => Promise<ResponseRun>

/** Runs that may be lost to crashes before the response fails. */
const ATTEMPTS_MAX = 3
/** What a run may take beyond the time its engine has, for history, files and the database. */
export const SLACK_SECONDS = 60
/** Numbers of `created` and `queued`, which were told when the response was stored. */
const TOLD_AT_FIRST = 2

/** Why a run is ended from outside; whatever else aborts it leaves the response as it is, for another run. */
export const CANCELLED = new Error('the response was cancelled')

/**
 * Runs a claimed background response to its end, which is written once. `signal` ends the run: as cancelled for the reason `CANCELLED`;
 * for any other, or when the database fails or the claim is lost, it throws and the response may be run again.
 */
export async function runQueued(
  ctx: Context,
  deps: ResponseDeps & { open: OpenRun },
  claimed: ClaimedResponse,
  signal: AbortSignal,
): Promise<void> {
  const problem = reasonNotToRun(ctx, claimed)
  if (problem === 'cancelled') return endUnrun(ctx, claimed, null)
  if (problem) return endUnrun(ctx, claimed, problem)
  const principal = await principalOf(ctx, claimed)
  if (principal instanceof ApiError) return endUnrun(ctx, claimed, principal)
  await begin(ctx, claimed)
  failpoint('response_begun')
  const charge = openRunCharge(deps.meter)
  const ended = await answer(ctx, { ...deps, meter: charge.meter }, { claimed, principal }, signal)
  failpoint('before_response_end')
  await endRun(ctx, deps.meter, { claimed, ...ended, used: charge.used() })
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
      'The service was interrupted again and again while it worked on this. Try again.',
    )
  }
  if (ctx.clock.now() > addSeconds(created_at, ctx.config.limits.queue_seconds)) {
    return new ApiError('server_is_overloaded', 'The response could not be started in time. Try again later.')
  }
  return null
}

/** Who asked, as they are today; an ApiError when they may not ask any more. */
async function principalOf(ctx: Pick<Context, 'db'>, claimed: ClaimedResponse): Promise<Principal | ApiError> {
  try {
    return await recheckPrincipal(ctx.db, claimed)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

/** Ends a response that is not run: as failed, or without an error as cancelled. What earlier runs told stays told. */
async function endUnrun(ctx: Context, claimed: ClaimedResponse, error: ApiError | null): Promise<void> {
  const now = ctx.clock.now()
  await ctx.db.transaction().execute(async (tx) => {
    const row = await lockResponse(tx, claimed, claimed.id)
    if (row?.claim_id !== claimed.claim_id) throw new ClaimLost('another worker has this response')
    if (error === null) return endAsCancelled(tx, row, now)
    const response = failed({ ...row.body, output: [] }, error)
    const last = (await readAllEvents(tx, row.id)).at(-1)
    const number = last ? last.first_number + last.events.length : 0
    await endResponse(tx, row, { response, now })
    await insertEvents(tx, row.id, { first_number: number, events: dataOf(failureEvents(number, response)) })
  })
  ctx.changes.announce(RESPONSE_TOPIC, claimed.id)
}

/** What an earlier run told is forgotten: this one tells it anew, under the same ids. */
async function begin(ctx: Pick<Context, 'db'>, claimed: ClaimedResponse): Promise<void> {
  await ctx.db.transaction().execute(async (tx) => {
    if (!(await markInProgress(tx, claimed))) throw new ClaimLost('another worker has this response')
    await deleteEventsFrom(tx, claimed.id, TOLD_AT_FIRST)
  })
}

/** A response that has ended, and the events that say so: they are written with its end. */
type Answer = { response: ResponseObject; last: ResponseEvent[] }

async function answer(
  ctx: Context,
  deps: ResponseDeps & { open: OpenRun },
  { claimed, principal }: { claimed: ClaimedResponse; principal: Principal },
  signal: AbortSignal,
): Promise<Answer> {
  const seconds = ctx.config.limits.upstream_total_seconds + SLACK_SECONDS
  const late = AbortSignal.timeout(Math.ceil(seconds * 1000))
  const unwritten = new AbortController()
  const telling = openTelling(ctx, claimed, (error) => unwritten.abort(error))
  const over = AbortSignal.any([signal, late, unwritten.signal])
  let ended: EndedResponse | null = null
  const call: ResponseCall = {
    ...(await callOf(ctx, claimed, principal)),
    keep: async (kept) => {
      ended = kept
    },
  }
  const run = await deps.open(ctx, deps, call, over)
  const last: ResponseEvent[] = []
  try {
    for (let events: readonly ResponseEvent[] | null = run.first; events; events = await run.next()) {
      if (ended) last.push(...events)
      else await telling.tell(events)
    }
  } finally {
    await run.stop()
  }
  await telling.written()
  const cancelled = signal.aborted && signal.reason === CANCELLED
  if (run.response.status === 'cancelled' && !cancelled && !late.aborted) throw over.reason
  return asEnded(late.aborted && !cancelled, run.response, last)
}

/** A run that was out of time ends as cancelled for itself, and as failed for its owner. */
function asEnded(late: boolean, response: ResponseObject, last: ResponseEvent[]): Answer {
  if (!late || response.status !== 'cancelled') return { response, last }
  const timeout = new ApiError(
    'upstream_timeout',
    'The response took longer than its time limit. Try again, or ask for less.',
  )
  const ended = failed(response, timeout)
  const number = last.at(-1)!.sequence_number
  return { response: ended, last: [...last.slice(0, -1), ...failureEvents(number, ended)] }
}

async function callOf(ctx: Context, claimed: ClaimedResponse, principal: Principal): Promise<ResponseCall> {
  const { id, request_id, request, body } = claimed
  // What was stored is what was sent, normalized.
  const input = (await listAllInput(ctx.db, claimed, id)) as InputItem[]
  return { principal, request_id, body: { ...request, input }, queued: { ...body, status: 'queued', output: [] } }
}

function failed(response: ResponseObject, error: ApiError): ResponseObject {
  const ended = { status: 'failed', incomplete_details: null, completed_at: null, usage: null } as const
  return { ...response, ...ended, error: errorView(error) }
}

function dataOf(events: readonly ResponseEvent[]): string[] {
  return events.map(({ data }) => data)
}
