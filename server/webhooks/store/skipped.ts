import { type Kysely, sql } from 'kysely'
import type { Database, Db, Tx } from '../../platform/db/db.ts'

/** Deliveries that one statement changes, in some 25 ms. It is cut off at 20 s, and a backlog may be of any length. */
export const DELIVERY_BATCH = 1000

/**
 * Skips what waits for an endpoint that is disabled or deleted, in `batches_max` transactions at most. What is being sent or changed at this
 * moment is left to the next call. Does nothing while the endpoint is enabled: what was sent again since then stays.
 */
export async function skipPending(
  db: Kysely<Database>,
  endpoint_id: string,
  { batches_max }: { batches_max: number },
): Promise<void> {
  let after = ''
  for (let n = 0; n < batches_max; n++) {
    const last = await db.transaction().execute(async (tx) => {
      return (await lockEnabled(tx, endpoint_id)) ? null : skipAfter(tx, endpoint_id, after)
    })
    if (last === null) return
    after = last
  }
}

/** Whether an endpoint is enabled, which nobody changes until the transaction ends. */
async function lockEnabled(tx: Tx, id: string): Promise<boolean> {
  const query = tx.selectFrom('webhook_endpoints').select('disabled_reason').where('id', '=', id)
  const row = await query.forShare().executeTakeFirst()
  return row?.disabled_reason === null
}

/**
 * Makes the statements of this transaction read pages from an index that has their order. Of a backlog that its statistics do not know yet
 * PostgreSQL would read and sort all that is left for each page.
 */
export async function readInOrder(tx: Tx): Promise<void> {
  await sql`set local enable_sort = off`.execute(tx)
}

/** Skips a batch of those after the event `after`. Returns the last event of a whole batch, else null. */
async function skipAfter(tx: Tx, endpoint_id: string, after: string): Promise<string | null> {
  await readInOrder(tx)
  const { rows } = await sql<{ count: number; last: string | null }>`
    with page as (
      select id, event_id from event_deliveries
      where endpoint_id = ${endpoint_id} and state = 'pending' and claim_id is null and event_id > ${after}
      order by event_id limit ${DELIVERY_BATCH} for update skip locked
    ), skipped as (
      update event_deliveries set state = 'skipped' where id = any(array(select id from page))
    )
    select count(*)::int as count, max(event_id) as last from page`.execute(tx)
  const { count, last } = rows[0]!
  return count === DELIVERY_BATCH ? last : null
}

/** The endpoints that are disabled or deleted and have something to skip. Each is found by its first index entry. */
export async function findSkippable(db: Db): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with recursive waiting (id) as (
      (select endpoint_id from event_deliveries where state = 'pending' and claim_id is null order by endpoint_id limit 1)
      union all
      select (select d.endpoint_id from event_deliveries d
              where state = 'pending' and claim_id is null and d.endpoint_id > waiting.id
              order by d.endpoint_id limit 1)
      from waiting where waiting.id is not null
    )
    select id from waiting
    where id is not null and not exists (select from webhook_endpoints w where w.id = waiting.id and w.disabled_reason is null)`.execute(
    db,
  )
  return rows.map(({ id }) => id)
}
