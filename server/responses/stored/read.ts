import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import { ApiError } from '../../platform/errors.ts'
import { type Order, type Page, pageOf } from '../../platform/http/list.ts'
import { hasUnstorableText } from '../../platform/text.ts'
import type { Item } from '../schema/items.ts'
import type { ResponseObject } from '../schema/response.ts'
import { findInputPosition, listInput } from './store/items.ts'
import { findResponse, type ResponseRow } from './store/responses.ts'

/** The same 404 for responses that do not exist and those of other people, in the same organization too. */
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

/** A page of the input items of a response. Throws ApiError `not_found`, and `invalid_value` for an `after` that is none of its items. */
export async function pageOfInput(
  ctx: Pick<Context, 'db'>,
  principal: Principal,
  page: { response_id: string; after: string | null; order: Order; limit: number },
): Promise<Page<Item>> {
  const { response_id, order, limit } = page
  // Text that PostgreSQL cannot store is the id of no item.
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
