import { sql } from 'kysely'
import type { Db } from '../../../platform/db/db.ts'
import type { Owner } from './responses.ts'

type EventBatchRow = { response_id: string; first_number: number; last_number: number; events: string }

declare module '../../../platform/db/db.ts' {
  interface Database {
    response_event_batches: EventBatchRow
  }
}

/** The JSON of consecutive events; the first has the sequence number `first_number`. */
export type EventBatch = { first_number: number; events: readonly string[] }

/** Inserts a batch. The caller has locked or inserted the row of the response. */
export async function insertEvents(tx: Db, response_id: string, batch: EventBatch): Promise<void> {
  await tx.insertInto('response_event_batches').values(rowOf(response_id, batch)).execute()
}

/** Inserts a batch for the consumer that holds the claim. False when the claim is lost or the response has ended. */
export async function appendEvents(
  db: Db,
  claimed: { id: string; claim_id: string },
  batch: EventBatch,
): Promise<boolean> {
  const { first_number, last_number, events } = rowOf(claimed.id, batch)
  const result = await sql`
    insert into response_event_batches (response_id, first_number, last_number, events)
    select id, ${first_number}, ${last_number}, ${events} from responses
    where id = ${claimed.id} and claim_id = ${claimed.claim_id} and finished_at is null for share`.execute(db)
  return result.numAffectedRows === 1n
}

/** Deletes the events of an earlier attempt from `first_number` on. */
export async function deleteEventsFrom(tx: Db, response_id: string, first_number: number): Promise<void> {
  await tx
    .deleteFrom('response_event_batches')
    .where('response_id', '=', response_id)
    .where('first_number', '>=', first_number)
    .execute()
}

/**
 * Events of a response in one snapshot: whether it has ended, the number of its last event, and a page of batches. Where the next batch
 * alone is larger than asked for there is none, and its size is `large_bytes`; else that is 0.
 */
export type StoredEvents = { ended: boolean; last_number: number; batches: EventBatch[]; large_bytes: number }

/**
 * Up to `limit` batches with events after the number `after`, in order, of `bytes_max` bytes in all. Null when this person has no such
 * response.
 */
export async function readEvents(
  db: Db,
  owner: Owner,
  which: { id: string; after: number; limit: number; bytes_max: number },
): Promise<StoredEvents | null> {
  const { id, after, limit, bytes_max } = which
  const result = await sql<{
    ended: boolean
    last_number: number
    first_number: number | null
    bytes: number
    events: string | null
  }>`
    select r.finished_at is not null as ended,
           coalesce((select max(b.last_number) from response_event_batches b where b.response_id = r.id), -1) as last_number,
           page.first_number, page.bytes, case when page.total <= ${bytes_max} then page.events end as events
    from responses r left join lateral (
      select b.first_number, b.events, octet_length(b.events) as bytes, sum(octet_length(b.events)) over (order by b.first_number) as total
      from response_event_batches b
      where b.response_id = r.id and b.last_number > ${after} order by b.first_number limit ${limit}
    ) page on page.total <= ${bytes_max} or page.total = page.bytes
    where r.org_id = ${owner.org_id} and r.user_id = ${owner.user_id} and r.id = ${id}
    order by page.first_number`.execute(db)
  const first = result.rows[0]
  if (!first) return null
  const batches = result.rows.flatMap(({ first_number, events }) =>
    first_number === null || events === null ? [] : [{ first_number, events: events.split('\n') }],
  )
  const { ended, last_number, first_number, events, bytes } = first
  return { ended, last_number, batches, large_bytes: first_number !== null && events === null ? bytes : 0 }
}

/** All events of a response, to end it outside of its run. */
export async function readAllEvents(tx: Db, response_id: string): Promise<EventBatch[]> {
  const rows = await tx
    .selectFrom('response_event_batches')
    .select(['first_number', 'events'])
    .where('response_id', '=', response_id)
    .orderBy('first_number')
    .execute()
  return rows.map(({ first_number, events }) => ({ first_number, events: events.split('\n') }))
}

/** The sequence number after the last of these events. */
export function nextEventNumber(batches: readonly EventBatch[]): number {
  const last = batches.at(-1)
  return last ? last.first_number + last.events.length : 0
}

function rowOf(response_id: string, { first_number, events }: EventBatch): EventBatchRow {
  return { response_id, first_number, last_number: first_number + events.length - 1, events: events.join('\n') }
}
