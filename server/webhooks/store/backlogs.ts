import { sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import type { DeliveryRow } from './deliveries.ts'

/** What is to be sent to an endpoint, and how the last attempt went. */
export type DeliveryBacklog = Pick<DeliveryRow, 'last_try_at' | 'status_code' | 'error'> & {
  endpoint_id: string
  /** Pending deliveries, counted up to `COUNTED_MAX`. */
  waiting: number
  /** Of those that nobody is sending at this moment; null when there are none. */
  next_try_at: Date | null
}

export const COUNTED_MAX = 10_000

/** Deliveries that are looked at for the last attempt: the newest, and those that have waited longest. */
const LOOKED_AT = 100

/**
 * A range, in the order of the endpoints: with `=`, PostgreSQL takes one that has most of the deliveries for a reason to read all of them
 * by another index.
 */
const OF_ONE = sql`d.endpoint_id between s.id and s.id`

/** For the operator, by endpoint. However many deliveries there are, some ten thousand entries of an index are read for each. */
export async function readBacklogs(db: Db, endpoint_ids: readonly string[]): Promise<Map<string, DeliveryBacklog>> {
  const { rows } = await sql<DeliveryBacklog>`
    select s.id as endpoint_id, counted.waiting, due.next_try_at, last.last_try_at, last.status_code, last.error
    from unnest(${[...endpoint_ids]}::text[]) as s (id)
    cross join lateral (
      select count(*)::int as waiting from (
        select from event_deliveries d where ${OF_ONE} and d.state = 'pending'
        order by d.endpoint_id, d.event_id limit ${COUNTED_MAX}) pending) counted
    left join lateral (
      select d.next_try_at from event_deliveries d where ${OF_ONE} and d.state = 'pending' and d.claim_id is null
      order by d.endpoint_id, d.next_try_at limit 1) due on true
    left join lateral (
      select last_try_at, status_code, error from (
        (select d.* from event_deliveries d where ${OF_ONE} order by d.endpoint_id desc, d.event_id desc limit ${LOOKED_AT})
        union all
        (select d.* from event_deliveries d where ${OF_ONE} and d.state = 'pending'
         order by d.endpoint_id, d.event_id limit ${LOOKED_AT})
      ) tried where last_try_at is not null order by last_try_at desc limit 1) last on true`.execute(db)
  return new Map(rows.map((row) => [row.endpoint_id, row]))
}
