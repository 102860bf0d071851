import { sql } from 'kysely'
import type { Db } from '../../../platform/db/db.ts'
import type { ResponseObject } from '../../schema/response.ts'
import { type EventBatch, insertEvents } from './events.ts'
import { bodyText, ITEM_ROW_BYTES, idsOf, type Owner, otherBytes } from './responses.ts'

/**
 * The fenced update that ends a response and inserts its output and last events. False, without any effect, when it has ended or the claim
 * is another's.
 */
export async function endResponse(
  tx: Db,
  row: Owner & { id: string; claim_id: string | null },
  end: { response: ResponseObject; last: EventBatch; now: Date },
): Promise<boolean> {
  const { response, last, now } = end
  const { status, output } = response
  const [body, items] = [bodyText(response), JSON.stringify(output)]
  const item_ids = idsOf(output)
  const other_bytes = otherBytes([body, ...last.events], item_ids)
  const ended = await sql`
    with ended as (
      update responses set status = ${status}, body = ${body}::json, size_bytes = size_bytes + ${Buffer.byteLength(items)},
        other_bytes = ${other_bytes} + (
          select coalesce(sum(octet_length(events)), 0) from response_event_batches where response_id = ${row.id}) + (
          select coalesce(sum(${ITEM_ROW_BYTES} + 3 * octet_length(item_id)), 0) from response_items where response_id = ${row.id}),
        finished_at = ${now}, completed_at = ${status === 'completed' ? now : null},
        request = null, next_run_at = null, claim_id = null, claimed_until = null
      where id = ${row.id} and finished_at is null and claim_id is not distinct from ${row.claim_id}
      returning id
    ), inserted as (
      insert into response_items (response_id, direction, position, org_id, user_id, item_id, item, size_bytes)
      select id, 'output', n, ${row.org_id}, ${row.user_id}, item_id, item, octet_length(item::text)
      from ended, rows from (json_array_elements(${items}::json), unnest(${item_ids}::text[])) with ordinality as e (item, item_id, n)
    )
    select id from ended`.execute(tx)
  if (ended.rows.length === 0) return false
  await insertEvents(tx, row.id, last)
  return true
}
