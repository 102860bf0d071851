import { type Generated, sql } from 'kysely'
import { addSeconds } from '../../platform/clock.ts'
import type { Db, Tx } from '../../platform/db/db.ts'
import { comparisonOf, type Position } from '../../platform/http/list.ts'
import type { EventRow } from './events.ts'
import { DELIVERY_BATCH, readInOrder } from './skipped.ts'

/**
 * `pending`: to be sent, for the first time or again. `failed`: given up. `skipped`: not sent, because its endpoint was disabled.
 */
export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'skipped'

/** An event on its way to one endpoint. */
export type DeliveryRow = {
  /** `<event_id>/<endpoint_id>` */
  id: string
  event_id: string
  endpoint_id: string
  org_id: string
  state: DeliveryState
  /** All attempts. */
  attempts: number
  /** Attempts of the present schedule: a delivery that is sent again begins a new one. */
  tries: number
  /** When it is next sent; meaningless unless `pending`. */
  next_try_at: Date
  last_try_at: Date | null
  /** Of the last attempt; null when there was no answer. */
  status_code: number | null
  /** What went wrong in the last attempt; null when nothing did. */
  error: string | null
  claim_id: string | null
  claimed_until: Date | null
}

type Optional = 'attempts' | 'tries' | 'last_try_at' | 'status_code' | 'error' | 'claim_id' | 'claimed_until'

declare module '../../platform/db/db.ts' {
  interface Database {
    event_deliveries: Omit<DeliveryRow, Optional> & { [Name in Optional]: Generated<DeliveryRow[Name]> }
  }
}

/** A delivery with what it says of its event. */
export type EventDelivery = DeliveryRow & Pick<EventRow, 'type' | 'subject_id' | 'created_at'>

/** What became of a claimed delivery. `tried`: it was sent, or could not be received, and that counts as an attempt. */
export type DeliveryResult = Pick<
  DeliveryRow,
  'id' | 'claim_id' | 'state' | 'next_try_at' | 'status_code' | 'error'
> & {
  tried: boolean
}

/**
 * Writes results under the claims they were made with, and ends the claims. Returns how many attempts each of those written has had, by
 * id: another claim, or a deletion, has come before the others.
 */
export async function writeResults(
  tx: Tx,
  results: readonly DeliveryResult[],
  now: Date,
): Promise<Map<string, number>> {
  const { rows } = await sql<{ id: string; attempts: number }>`
    update event_deliveries d set
      state = r.state, next_try_at = r.next_try_at, claim_id = null, claimed_until = null,
      attempts = d.attempts + r.tried::int, tries = d.tries + r.tried::int,
      last_try_at = case when r.tried then ${now}::timestamptz else d.last_try_at end,
      status_code = r.status_code, error = r.error
    from jsonb_to_recordset(${JSON.stringify(results)}::jsonb)
      as r (id text, claim_id text, state text, next_try_at timestamptz, status_code int, error text, tried boolean)
    where d.id = any(${results.map(({ id }) => id)}::text[]) and d.id = r.id and d.claim_id = r.claim_id
    returning d.id, d.attempts`.execute(tx)
  return new Map(rows.map(({ id, attempts }) => [id, attempts]))
}

function deliveriesOf(db: Db, { org_id, endpoint_id }: { org_id: string; endpoint_id: string }) {
  return db
    .selectFrom('event_deliveries')
    .innerJoin('events', 'events.id', 'event_deliveries.event_id')
    .selectAll('event_deliveries')
    .select(['events.type', 'events.subject_id', 'events.created_at'])
    .where('event_deliveries.org_id', '=', org_id)
    .where('event_deliveries.endpoint_id', '=', endpoint_id)
}

/** Deliveries to one endpoint, by their event; one more than `position.limit`. */
export async function listDeliveries(
  db: Db,
  { state, ...of }: { org_id: string; endpoint_id: string; state: DeliveryState | null },
  position: Position,
): Promise<EventDelivery[]> {
  let query = deliveriesOf(db, of)
  if (state !== null) query = query.where('event_deliveries.state', '=', state)
  if (position.after !== null)
    query = query.where('event_deliveries.event_id', comparisonOf(position.order), position.after)
  return query
    .orderBy('event_deliveries.event_id', position.order)
    .limit(position.limit + 1)
    .execute()
}

/** The delivery of one event to one endpoint. */
export async function findDelivery(
  db: Db,
  { event_id, ...of }: { org_id: string; endpoint_id: string; event_id: string },
): Promise<EventDelivery | null> {
  const query = deliveriesOf(db, of).where('event_deliveries.event_id', '=', event_id)
  return (await query.executeTakeFirst()) ?? null
}

/** For the operator: deliveries of what was recorded about a job or response at `at`, give or take a second, whose events alone are read. */
export async function listDeliveriesOfSubject(
  db: Db,
  { org_id, subject_id, at }: { org_id: string; subject_id: string; at: Date },
): Promise<EventDelivery[]> {
  return db
    .selectFrom('events')
    .innerJoin('event_deliveries', 'event_deliveries.event_id', 'events.id')
    .selectAll('event_deliveries')
    .select(['events.type', 'events.subject_id', 'events.created_at'])
    .where('events.created_at', '>=', addSeconds(at, -1))
    .where('events.created_at', '<=', addSeconds(at, 1))
    .where('events.org_id', '=', org_id)
    .where('events.subject_id', '=', subject_id)
    .orderBy('event_deliveries.id')
    .execute()
}

/** Deliveries of one event, or a page of those since a time, after an event. */
type Again = { event_id: string } | { since: Date; after: string }

/**
 * Makes deliveries to one endpoint due at once, each with a whole schedule before it. `undelivered`: only those that have not arrived.
 * One that is being sent at this moment is left alone, and so is one of an event after `now`. Of those since a time it reads a page:
 * returns how many are sent again, and the event after which the next page begins, or null when this was the last.
 */
export async function sendAgain(
  tx: Tx,
  which: { endpoint_id: string; now: Date; undelivered: boolean } & Again,
): Promise<{ count: number; next: string | null }> {
  const { endpoint_id, now, undelivered } = which
  const events = 'event_id' in which ? sql`d.event_id = ${which.event_id}` : sql`d.event_id > ${which.after}`
  const times = 'event_id' in which ? sql`true` : sql`e.created_at between ${which.since} and ${now}`
  await readInOrder(tx)
  const { rows } = await sql<{ read: number; last: string | null; count: number }>`
    with page as (
      select d.id, d.event_id from event_deliveries d
      where d.endpoint_id = ${endpoint_id} and ${events} order by d.event_id limit ${DELIVERY_BATCH}
    ), free as (
      select d.id from event_deliveries d join events e on e.id = d.event_id
      where d.id = any(array(select id from page)) and d.claim_id is null and ${times} and (d.state <> 'delivered' or not ${undelivered})
      for update of d skip locked
    ), again as (
      update event_deliveries set state = 'pending', tries = 0, next_try_at = ${now}
      where id = any(array(select id from free)) returning id
    )
    select count(*)::int as read, max(event_id) as last, (select count(*)::int from again) as count from page`.execute(
    tx,
  )
  const { read, last, count } = rows[0]!
  return { count, next: read === DELIVERY_BATCH ? last : null }
}

/** Whether there is a delivery of this event to this endpoint. */
export async function hasDelivery(db: Db, { event_id, endpoint_id }: { event_id: string; endpoint_id: string }) {
  const query = db.selectFrom('event_deliveries').select('id').where('event_id', '=', event_id)
  return (await query.where('endpoint_id', '=', endpoint_id).executeTakeFirst()) !== undefined
}
