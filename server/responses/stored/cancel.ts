import { setTimeout as sleep } from 'node:timers/promises'
import { findUsage } from '../../billing/store.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import type { Tx } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Lease } from '../../platform/http/body/byte-budget.ts'
import { endEvent, itemsOfEvents, responseUsage } from '../events/event.ts'
import type { ResponseObject, ResponseUsage } from '../schema/response.ts'
import { listenFor } from './changes.ts'
import { recordEnds } from './ends.ts'
import { noSuchResponse, readResponse } from './read.ts'
import { endResponse } from './store/end.ts'
import { nextEventNumber, readAllEvents } from './store/events.ts'
import {
  deleteEndedResponse,
  findResponse,
  lockResponse,
  type Owner,
  RESPONSE_CANCEL_TOPIC,
  RESPONSE_TOPIC,
  type ResponseRow,
  requestCancel,
} from './store/responses.ts'

/** How long the consumer that runs a response may take to end it; after that it is ended here. */
const WORKER_MILLISECONDS = 10_000
const POLL_MILLISECONDS = 250

type Ctx = Pick<Context, 'db' | 'clock' | 'changes'>

/**
 * Cancels a background response and returns it; what it has produced is charged, and its completed items are kept. No effect on one that
 * is already cancelled. Throws ApiError `not_found`, and `invalid_request_error` for one that ended otherwise or is no background response.
 */
export async function cancelResponse(
  ctx: Ctx,
  principal: Principal,
  { id, lease }: { id: string; lease: Lease },
): Promise<ResponseObject> {
  const found = await findResponse(ctx.db, principal, { id, bytes_max: 0 })
  if (!found) throw noSuchResponse()
  if (!found.background) {
    throw new ApiError('invalid_request_error', "Only a response created with 'background' can be cancelled.")
  }
  await awaitEnd(ctx, principal, id)
  const { body } = await readResponse(ctx, principal, { id, lease })
  if (body.status !== 'cancelled') {
    throw new ApiError('invalid_request_error', `This response is ${body.status} and can no longer be cancelled.`)
  }
  return body
}

/** Deletes a response for good; one that is still running is cancelled first. Throws ApiError `not_found`. */
export async function deleteResponse(ctx: Ctx, principal: Principal, id: string): Promise<void> {
  for (;;) {
    const deleted = await deleteEndedResponse(ctx.db, principal, id)
    if (deleted === null) throw noSuchResponse()
    if (deleted === 'deleted') return ctx.changes.announce(RESPONSE_TOPIC, id)
    await awaitEnd(ctx, principal, id)
  }
}

/** Resolves once the response has ended, whether by its consumer or, when that takes too long, here. */
async function awaitEnd(ctx: Ctx, owner: Owner, id: string): Promise<void> {
  const deadline = performance.now() + WORKER_MILLISECONDS
  const changes = listenFor(ctx, id)
  try {
    let announced = changes.next()
    while (await requestEnd(ctx, owner, { id, force: performance.now() > deadline })) {
      await Promise.race([announced, sleep(POLL_MILLISECONDS)])
      announced = changes.next()
    }
  } finally {
    changes.close()
  }
}

/** Ends a response that no consumer has claimed, or any with `force`; otherwise asks its consumer to. True while its end is to be awaited. */
async function requestEnd(ctx: Ctx, owner: Owner, { id, force }: { id: string; force: boolean }): Promise<boolean> {
  const now = ctx.clock.now()
  let announce = () => {}
  const result = await ctx.db.transaction().execute(async (tx) => {
    const row = await lockResponse(tx, owner, id)
    if (!row) throw noSuchResponse()
    if (row.finished_at) return 'over'
    if (row.claim_id === null || force) {
      announce = await endAsCancelled(ctx, tx, { row, now })
      return 'ended'
    }
    await requestCancel(tx, owner, { id, now })
    return 'requested'
  })
  announce()
  if (result === 'ended') ctx.changes.announce(RESPONSE_TOPIC, id)
  if (result !== 'over') ctx.changes.announce(RESPONSE_CANCEL_TOPIC, id)
  return result === 'requested'
}

/**
 * Ends a response outside of its run, with the output items of its events. The caller has locked the row. Call the function it returns
 * after the commit.
 */
export async function endAsCancelled(
  ctx: Pick<Context, 'changes'>,
  tx: Tx,
  { row, now }: { row: ResponseRow; now: Date },
): Promise<() => void> {
  const batches = await readAllEvents(tx, row.id)
  const first_number = nextEventNumber(batches)
  const response: ResponseObject = {
    ...row.body,
    status: 'cancelled',
    incomplete_details: { reason: 'cancelled' },
    output: itemsOfEvents(batches.flatMap(({ events }) => events)),
    usage: await usageOf(tx, row),
  }
  const last = { first_number, events: [endEvent(first_number, response).data] }
  if (!(await endResponse(tx, row, { response, last, now }))) throw new Error(`${row.id} ended while it was locked`)
  return recordEnds(ctx, tx, { ended: [{ org_id: row.org_id, response }], now })
}

/** The usage a response was charged for. */
async function usageOf(
  tx: Tx,
  { org_id, request_id }: Pick<ResponseRow, 'org_id' | 'request_id'>,
): Promise<ResponseUsage> {
  const used = await findUsage(tx, { org_id, request_id })
  return responseUsage({
    input: used?.input_tokens ?? 0,
    cached_input: used?.cached_input_tokens ?? 0,
    output: used?.output_tokens ?? 0,
    reasoning: used?.reasoning_tokens ?? 0,
  })
}
