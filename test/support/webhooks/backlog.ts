import type { DeliveryState } from '../../../server/events/store/deliveries.ts'
import type { TestDatabase } from '../data/postgres.ts'

/**
 * Inserts `count` events with their deliveries to one subscription, one for each second, the newest at `until`. All of them are due, the oldest
 * first. Call it once for a subscription.
 */
export async function insertBacklog(
  { pool }: Pick<TestDatabase, 'pool'>,
  backlog: { org_id: string; subscription_id: string; count: number; until: Date; state?: DeliveryState },
): Promise<void> {
  const { org_id, subscription_id, count, until, state = 'pending' } = backlog
  const ids = `'evt_' || lpad(n::text, 10, '0') || right($1, 16)`
  const at = `$2::timestamptz - ($3 - n) * interval '1 second'`
  await pool.query(
    `insert into events (id, org_id, type, subject_id, created_at)
     select ${ids}, $4, 'video.completed', 'video_' || n, ${at} from generate_series(1, $3::int) as n`,
    [subscription_id, until, count, org_id],
  )
  await pool.query(
    `insert into event_deliveries (id, event_id, subscription_id, org_id, state, next_try_at)
     select ${ids} || '/' || $1, ${ids}, $1, $4, $5, ${at} from generate_series(1, $3::int) as n`,
    [subscription_id, until, count, org_id, state],
  )
}
