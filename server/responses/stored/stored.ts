import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import { ApiError } from '../../platform/errors.ts'
import { type Order, type Page, pageOf } from '../../platform/http/list.ts'
import { hasUnstorableText } from '../../platform/text.ts'
import type { EndedResponse } from '../call.ts'
import { type ItemKind, newItemId } from '../ids.ts'
import { RESPONSE_TOPIC } from '../queues.ts'
import type { Item } from '../schema/items.ts'
import type { ResponseObject } from '../schema/response.ts'
import { deleteEndedResponse, findResponse, insertResponse, type ResponseRow } from './store.ts'
import { findInputPosition, listInput } from './store-items.ts'

/** Stores a response that has ended, with what it was asked and what it answered, in one statement. */
export async function keepResponse(
  ctx: Pick<Context, 'db' | 'clock'>,
  call: { principal: Principal; request_id: string },
  { response, input }: EndedResponse,
): Promise<void> {
  const { org_id, user_id, key_id } = call.principal
  const { request_id } = call
  const now = ctx.clock.now()
  const stored = { org_id, user_id, key_id, request_id, response, input: withDistinctIds(input), now, request: null }
  await insertResponse(ctx.db, stored)
}

/**
 * Items as they are stored: where a client used one id twice in one request the later item keeps it, so that pages by id have no gap
 * and no repetition.
 */
export function withDistinctIds(items: readonly Item[]): Item[] {
  const last = new Map(items.map(({ id }, index) => [id, index]))
  return items.map((item, index) => (last.get(item.id) === index ? item : { ...item, id: newItemId(KINDS[item.type]) }))
}

const KINDS: Readonly<Record<Item['type'], ItemKind>> = {
  message: 'msg',
  function_call: 'fc',
  function_call_output: 'fco',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctco',
  reasoning: 'rs',
  compaction: 'cmp',
}

/** One 404 body for missing responses and those of other people, of the same organization too. */
export function noSuchResponse(): ApiError {
  return new ApiError(
    'not_found',
    'No such response. Check the id: a response is private to the person who made it and kept for 30 days.',
  )
}

/** A person's stored response. Throws ApiError `not_found`. */
export async function readResponse(
  ctx: Pick<Context, 'db'>,
  principal: Principal,
  id: string,
): Promise<ResponseRow & { body: ResponseObject }> {
  const row = await findResponse(ctx.db, principal, id)
  if (!row) throw noSuchResponse()
  return row
}

/** Deletes a response that has ended, whole. `running` when it has to be cancelled first. Throws ApiError `not_found`. */
export async function removeEnded(
  ctx: Pick<Context, 'db' | 'changes'>,
  principal: Principal,
  id: string,
): Promise<'deleted' | 'running'> {
  const deleted = await deleteEndedResponse(ctx.db, principal, id)
  if (deleted === null) throw noSuchResponse()
  if (deleted === 'deleted') ctx.changes.announce(RESPONSE_TOPIC, id)
  return deleted
}

/** A page of what a response was asked with. Throws ApiError `not_found`, and `invalid_value` for an `after` that is no item of it. */
export async function pageOfInput(
  ctx: Pick<Context, 'db'>,
  principal: Principal,
  page: { response_id: string; after: string | null; order: Order; limit: number },
): Promise<Page<Item>> {
  const { response_id, order, limit } = page
  // Text that cannot be stored is the id of nothing.
  const item_id = page.after !== null && hasUnstorableText(page.after) ? null : page.after
  const after = await findInputPosition(ctx.db, principal, { response_id, item_id })
  if (after === null) throw noSuchResponse()
  if (page.after !== null && after === 0) {
    const text = "Invalid 'after': not the id of an input item of this response. Send the last id of the page before."
    throw new ApiError('invalid_value', text, { param: 'after' })
  }
  const items = await listInput(ctx.db, principal, { response_id, after, order, limit })
  return pageOf(items, limit, (item) => item)
}
