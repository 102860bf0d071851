import { setTimeout as sleep } from 'node:timers/promises'
import { findUsage } from '../../billing/store.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import type { Tx } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import { endEvent, itemsTold } from '../events/lines.ts'
import { usageView } from '../events/usage.ts'
import { RESPONSE_CANCEL_TOPIC, RESPONSE_TOPIC } from '../queues.ts'
import type { ResponseObject, ResponseUsage } from '../schema/response.ts'
import { endResponse, lockResponse, noteCancel, type Owner, type ResponseRow } from './store.ts'
import { insertEvents, readAllEvents } from './store-events.ts'
import { noSuchResponse, readResponse, removeEnded } from './stored.ts'

/** How long the worker that has a response may take to end it; after that it is ended here. */
const PATIENCE_MILLISECONDS = 10_000
const LOOK_AGAIN_MILLISECONDS = 250

type Ctx = Pick<Context, 'db' | 'clock' | 'changes'>

/**
 * Cancels a background response and returns it; what it has produced is charged, and its completed items stay. One that is cancelled
 * stays as it is. Throws ApiError `not_found`, and `invalid_request_error` for one that ended otherwise or was made synchronously.
 */
export async function cancelResponse(ctx: Ctx, principal: Principal, id: string): Promise<ResponseObject> {
  const { background } = await readResponse(ctx, principal, id)
  if (!background) {
    throw new ApiError('invalid_request_error', "Only a response created with 'background' can be cancelled.")
  }
  const deadline = performance.now() + PATIENCE_MILLISECONDS
  while (await askToEnd(ctx, principal, { id, insist: performance.now() > deadline })) await untilNews(ctx, id)
  const { body } = await readResponse(ctx, principal, id)
  if (body.status !== 'cancelled') {
    throw new ApiError('invalid_request_error', `This response is ${body.status} and can no longer be cancelled.`)
  }
  return body
}

/** Deletes a response for good; one that is still running is cancelled first. Throws ApiError `not_found`. */
export async function deleteResponse(ctx: Ctx, principal: Principal, id: string): Promise<void> {
  while ((await removeEnded(ctx, principal, id)) === 'running') {
    await cancelResponse(ctx, principal, id).catch((error: unknown) => {
      // It ended by itself at that moment.
      if (!(error instanceof ApiError) || error.code !== 'invalid_request_error') throw error
    })
  }
}

/** Ends a response that no worker has, or any when told to insist; else tells its worker. Whether there is still something to wait for. */
async function askToEnd(ctx: Ctx, owner: Owner, { id, insist }: { id: string; insist: boolean }): Promise<boolean> {
  const now = ctx.clock.now()
  const asked = await ctx.db.transaction().execute(async (tx) => {
    const row = await lockResponse(tx, owner, id)
    if (!row) throw noSuchResponse()
    if (row.finished_at) return 'over'
    if (row.claim_id === null || insist) {
      await endAsCancelled(tx, row, now)
      return 'ended'
    }
    await noteCancel(tx, owner, { id, now })
    return 'told'
  })
  if (asked === 'ended') ctx.changes.announce(RESPONSE_TOPIC, id)
  if (asked !== 'over') ctx.changes.announce(RESPONSE_CANCEL_TOPIC, id)
  return asked === 'told'
}

/** Ends a response from outside of its run, with the items it has told. The caller holds the row. */
export async function endAsCancelled(tx: Tx, row: ResponseRow, now: Date): Promise<void> {
  const batches = await readAllEvents(tx, row.id)
  const last = batches.at(-1)
  const number = last ? last.first_number + last.events.length : 0
  const response: ResponseObject = {
    ...row.body,
    status: 'cancelled',
    incomplete_details: { reason: 'cancelled' },
    output: itemsTold(batches.flatMap(({ events }) => events)),
    usage: await usageOf(tx, row),
  }
  if (!(await endResponse(tx, row, { response, now }))) throw new Error(`${row.id} ended while it was held`)
  await insertEvents(tx, row.id, { first_number: number, events: [endEvent(number, response).data] })
}

/** What a response was charged, as it is shown. */
async function usageOf(
  tx: Tx,
  { org_id, request_id }: Pick<ResponseRow, 'org_id' | 'request_id'>,
): Promise<ResponseUsage> {
  const used = await findUsage(tx, { org_id, request_id })
  return usageView({
    input: used?.input_tokens ?? 0,
    cached_input: used?.cached_input_tokens ?? 0,
    output: used?.output_tokens ?? 0,
    reasoning: used?.reasoning_tokens ?? 0,
  })
}

/** News is best effort, so it also looks again. */
async function untilNews({ changes }: Pick<Context, 'changes'>, id: string): Promise<void> {
  const heard = Promise.withResolvers<void>()
  const close = changes.on(RESPONSE_TOPIC, (changed) => {
    if (changed === null || changed === id) heard.resolve()
  })
  await Promise.race([heard.promise, sleep(LOOK_AGAIN_MILLISECONDS)])
  close()
}
