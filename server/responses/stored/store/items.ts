import { type Generated, sql } from 'kysely'
import type { Db } from '../../../platform/db/db.ts'
import { comparisonOf, type Order } from '../../../platform/http/list.ts'
import type { Item } from '../../schema/items.ts'
import type { ResponseStatus } from '../../schema/response.ts'
import { itemBytes, itemKey, type Owner } from './responses.ts'

type ItemRow = Owner & {
  response_id: string
  direction: 'input' | 'output'
  position: number
  /** `itemKey` of the item's id. */
  item_id: string
  written: Generated<bigint>
  item: Item
  /** Null for items of former versions. */
  size_bytes: Generated<number | null>
}

declare module '../../../platform/db/db.ts' {
  interface Database {
    response_items: ItemRow
  }
}

/** One response of a chain. */
export type ChainLink = {
  id: string
  previous_response_id: string | null
  status: ResponseStatus
  input: Item[]
  output: Item[]
  /** Bytes of the items of this response and of those that come after it. */
  bytes: bigint
}

/**
 * A response and the responses before it, newest first, as far as they are this person's; one query whatever the length. Ends after
 * `links_max` responses, and at the one that takes the items beyond `bytes_max`. No items are read then, nor when they have more than
 * `read_max` bytes.
 */
export async function readChain(
  db: Db,
  owner: Owner,
  chain: { id: string; links_max: number; bytes_max: number; read_max: number },
): Promise<ChainLink[]> {
  const { org_id, user_id } = owner
  const { id, links_max, bytes_max, read_max } = chain
  const result = await sql<ChainLink>`
    with recursive chain (id, previous_response_id, status, depth, bytes) as (
      select r.id, r.previous_response_id, r.status, 1, r.size_bytes from responses r
      where r.org_id = ${org_id} and r.user_id = ${user_id} and r.id = ${id}
      union all
      select r.id, r.previous_response_id, r.status, c.depth + 1, c.bytes + r.size_bytes
      from chain c join responses r on r.id = c.previous_response_id
      where r.org_id = ${org_id} and r.user_id = ${user_id} and c.depth < ${links_max} and c.bytes <= ${bytes_max}
    )
    select c.id, c.previous_response_id, c.status, c.bytes, items.input, items.output
    from chain c cross join lateral (
      select coalesce(json_agg(i.item order by i.position) filter (where i.direction = 'input'), '[]') as input,
             coalesce(json_agg(i.item order by i.position) filter (where i.direction = 'output'), '[]') as output
      from response_items i where i.response_id = c.id and (select max(bytes) from chain) <= ${Math.min(bytes_max, read_max)}) items
    order by c.depth`.execute(db)
  return result.rows
}

/**
 * The newest item of each id in all of this person's responses. When together they are larger than `bytes_max` no item is read: each is
 * null.
 */
export async function findItems(
  db: Db,
  owner: Owner,
  wanted: { ids: readonly string[]; bytes_max: number },
): Promise<{ id: string; size_bytes: bigint; item: Item | null }[]> {
  const { bytes_max } = wanted
  const ids = new Map(wanted.ids.map((id) => [itemKey(id), id]))
  const result = await sql<{ id: string; size_bytes: bigint; item: Item | null }>`
    with newest as materialized (
      select wanted.id, found.written, found.size_bytes from unnest(${[...ids.keys()]}::text[]) as wanted (id) cross join lateral (
        select i.written, ${itemBytes}::bigint as size_bytes from response_items i
        where i.org_id = ${owner.org_id} and i.user_id = ${owner.user_id} and i.item_id = wanted.id
        order by i.written desc limit 1) found
    )
    select n.id, n.size_bytes, i.item from newest n left join response_items i
      on (select sum(size_bytes) from newest) <= ${bytes_max}
      and i.org_id = ${owner.org_id} and i.user_id = ${owner.user_id} and i.item_id = n.id and i.written = n.written`.execute(
    db,
  )
  return result.rows.map((row) => ({ ...row, id: ids.get(row.id)! }))
}

/** The input items of a response, in order. */
export async function listAllInput(db: Db, owner: Owner, response_id: string): Promise<Item[]> {
  const rows = await db
    .selectFrom('response_items')
    .select('item')
    .where('org_id', '=', owner.org_id)
    .where('user_id', '=', owner.user_id)
    .where('response_id', '=', response_id)
    .where('direction', '=', 'input')
    .orderBy('position')
    .execute()
  return rows.map(({ item }) => item as Item)
}

/**
 * Where a page of input begins, and the bytes of all items of the response. The position is that of an item in the input; 0 when it is not
 * there, or `item_id` is null. Null when this person has no such response.
 */
export async function findInputPosition(
  db: Db,
  owner: Owner,
  place: { response_id: string; item_id: string | null },
): Promise<{ position: number; size_bytes: bigint } | null> {
  const key = place.item_id === null ? null : itemKey(place.item_id)
  const result = await sql<{ position: number; size_bytes: bigint }>`
    select r.size_bytes, coalesce((select i.position from response_items i
                     where i.response_id = r.id and i.direction = 'input' and i.item_id = ${key}), 0) as position
    from responses r
    where r.org_id = ${owner.org_id} and r.user_id = ${owner.user_id} and r.id = ${place.response_id}`.execute(db)
  return result.rows[0] ?? null
}

/** The id of an item and its JSON, which is large at times and sent as it is stored. */
export type ItemText = { id: string; json: string }

/** A page of input items, plus one, without its JSON, when there are more. `after` is a position; 0 starts at the beginning. */
export async function listInput(
  db: Db,
  owner: Owner,
  page: { response_id: string; after: number; order: Order; limit: number },
): Promise<ItemText[]> {
  const { response_id, after, order, limit } = page
  const place = sql`i.position ${sql.raw(order)}`
  const beyond = after === 0 ? sql`` : sql` and i.position ${sql.raw(comparisonOf(order))} ${after}`
  const result = await sql<ItemText>`
    select case when number <= ${limit} then item->>'id' end as id, case when number <= ${limit} then item::text end as json
    from (
      select i.item, row_number() over (order by ${place}) as number from response_items i
      where i.org_id = ${owner.org_id} and i.user_id = ${owner.user_id} and i.response_id = ${response_id}
        and i.direction = 'input'${beyond}
      order by ${place} limit ${limit + 1}) page
    order by number`.execute(db)
  return result.rows
}
