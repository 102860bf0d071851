import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import { ApiError } from '../../platform/errors.ts'
import { type Lease, readWithRoom } from '../../platform/http/body/byte-budget.ts'
import { type Order, pageOf } from '../../platform/http/list.ts'
import { hasUnstorableText } from '../../platform/text.ts'
import type { ResponseObject } from '../schema/response.ts'
import { findInputPosition, listInput } from './store/items.ts'
import { findResponse } from './store/responses.ts'

/** The same 404 for responses that do not exist and those of other people, in the same organization too. */
export function noSuchResponse(): ApiError {
  return new ApiError(
    'not_found',
    'No such response. Check the id: a response is private to the person who made it and kept for 30 days.',
  )
}

/** A person's stored response, as `lease` has room for it. Throws ApiError `not_found`. */
export async function readResponse(
  ctx: Pick<Context, 'db'>,
  principal: Principal,
  { id, lease }: { id: string; lease: Lease },
): Promise<{ background: boolean; body: ResponseObject }> {
  return readWithRoom(lease, async (bytes_max) => {
    const found = await findResponse(ctx.db, principal, { id, bytes_max })
    if (!found) throw noSuchResponse()
    const { background, bytes, body } = found
    return { bytes, content: body && { background, body } }
  })
}

/**
 * A page of the input items of a response as JSON, in parts, as `lease` has room for all of the response. Throws ApiError `not_found`, and
 * `invalid_value` for an `after` that is none of its items.
 */
export async function pageOfInput(
  ctx: Pick<Context, 'db'>,
  principal: Principal,
  page: { response_id: string; after: string | null; order: Order; limit: number; lease: Lease },
): Promise<string[]> {
  const { response_id, order, limit } = page
  // Text that PostgreSQL cannot store is the id of no item.
  const item_id = page.after !== null && hasUnstorableText(page.after) ? null : page.after
  const place = await findInputPosition(ctx.db, principal, { response_id, item_id })
  if (place === null) throw noSuchResponse()
  if (page.after !== null && place.position === 0) {
    const text = "Invalid 'after': not the id of an input item of this response. Send the last id of the page before."
    throw new ApiError('invalid_value', text, { param: 'after' })
  }
  await page.lease.add(Number(place.size_bytes))
  const items = await listInput(ctx.db, principal, { response_id, after: place.position, order, limit })
  const { object, data, ...ends } = pageOf(items, limit, ({ json }) => json)
  const listed = data.flatMap((json, index) => (index === 0 ? [json] : [',', json]))
  return [`{"object":"${object}","data":[`, ...listed, `],${JSON.stringify(ends).slice(1)}`]
}
