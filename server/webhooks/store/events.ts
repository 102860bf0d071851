import { type RawBuilder, sql } from 'kysely'
import type { Db, Tx } from '../../platform/db/db.ts'
import { newId } from '../../platform/ids.ts'
import type { EventType } from '../event.ts'

export type EventRow = {
  id: string
  org_id: string
  type: EventType
  /** The job, response or organization it is about. */
  subject_id: string
  created_at: Date
}

declare module '../../platform/db/db.ts' {
  interface Database {
    events: EventRow
  }
}

export type NewEvent = Pick<EventRow, 'org_id' | 'type' | 'subject_id'>

/**
 * Records what has changed, with a delivery to each endpoint that listens to it; what nobody listens to leaves no row. Call it in
 * the transaction that makes the change. Returns how many deliveries there are: announce `DELIVERY_QUEUE` after the commit if any.
 */
export async function recordEvents(tx: Tx, events: readonly NewEvent[], now: Date): Promise<number> {
  if (events.length === 0) return 0
  const column = (name: keyof NewEvent) => events.map((event) => event[name])
  const ids = events.map(() => newId('event', now))
  const { rows } = await sql<{ deliveries: bigint }>`-- prepared as record_events
    with matched as (
      select given.*, w.id as endpoint_id, w.disabled_reason is null as enabled
      from unnest(${ids}::text[], ${column('org_id')}::text[], ${column('type')}::text[], ${column('subject_id')}::text[])
        as given (id, org_id, type, subject_id)
      join webhook_endpoints w on w.org_id = given.org_id and given.type = any(w.event_types)
    ), ${recorded('matched', now)}
    select count(*) as deliveries from matched`.execute(tx)
  return Number(rows[0]!.deliveries)
}

/**
 * Further CTEs of a statement that takes money from accounts, for `balance.low` and `balance.empty`: an event for each threshold that a
 * balance has fallen to, for the endpoints that listen to it. `changed` names a CTE with `org_id`, `before` and `after`, of at most
 * `organizations` rows.
 */
export function balanceEvents(
  changed: string,
  { organizations, now }: { organizations: number; now: Date },
): RawBuilder<unknown> {
  const ids = Array.from({ length: organizations * 2 }, () => newId('event', now))
  return sql`
    crossed as (
      select c.org_id, c.org_id as subject_id, t.type, w.id as endpoint_id, w.disabled_reason is null as enabled,
             dense_rank() over (order by c.org_id, t.type) as n
      from ${sql.table(changed)} c join webhook_endpoints w on w.org_id = c.org_id
      join lateral (values ('balance.low', w.low_balance), ('balance.empty', 0::bigint)) as t (type, amount)
        on t.type = any(w.event_types) and c.before > t.amount and c.after <= t.amount
    ), crossings as (
      select crossed.*, given.id from crossed join unnest(${ids}::text[]) with ordinality as given (id, n) using (n)
    ), ${recorded('crossings', now)}`
}

/** CTEs that insert the events of `matched`, which has one row for each endpoint that listens, and their deliveries. */
function recorded(matched: string, now: Date): RawBuilder<unknown> {
  const source = sql.table(matched)
  return sql`recorded_events as (
      insert into events (id, org_id, type, subject_id, created_at, deliveries)
      select id, org_id, type, subject_id, ${now}::timestamptz, count(*) from ${source} group by id, org_id, type, subject_id
    ), recorded_deliveries as (
      insert into event_deliveries (id, event_id, endpoint_id, org_id, state, next_try_at)
      select id || '/' || endpoint_id, id, endpoint_id, org_id,
             case when enabled then 'pending' else 'skipped' end, ${now}::timestamptz
      from ${source}
    )`
}

/** Deletes up to `limit` events from before `before`, with their deliveries. Returns how many. */
export async function deleteEventsBefore(db: Db, before: Date, limit: number): Promise<number> {
  const result = await sql`
    delete from events where id in (
      select id from events where created_at < ${before} order by created_at limit ${limit} for update skip locked)`.execute(
    db,
  )
  return Number(result.numAffectedRows)
}
