import { newId } from '../../../server/platform/ids.ts'
import type { DeliveryState } from '../../../server/webhooks/store/deliveries.ts'
import type { TestDatabase } from '../../support/data/postgres.ts'

/** Inserts `count` events with their deliveries to one endpoint, one for each second until `until`, when the last one is due. Returns their ids. */
export async function insertBacklog(
  { pool }: Pick<TestDatabase, 'pool'>,
  backlog: { org_id: string; endpoint_id: string; count: number; until: Date; state?: DeliveryState },
): Promise<string[]> {
  const { org_id, endpoint_id, count, until, state = 'pending' } = backlog
  const times = Array.from({ length: count }, (_, n) => new Date(until.getTime() - (count - 1 - n) * 1000))
  const ids = times.map((at) => newId('event', at))
  await pool.query(
    `insert into events (id, org_id, type, subject_id, created_at)
     select id, $3, 'video.completed', 'video_' || id, at from unnest($1::text[], $2::timestamptz[]) as e (id, at)`,
    [ids, times, org_id],
  )
  await pool.query(
    `insert into event_deliveries (id, event_id, endpoint_id, org_id, state, next_try_at)
     select id || '/' || $3, id, $3, $4, $5, at from unnest($1::text[], $2::timestamptz[]) as e (id, at)`,
    [ids, times, endpoint_id, org_id, state],
  )
  return ids
}

/** Counts, from now on, how many deliveries each statement changes. Returns the counts so far, the highest first. */
export async function countChanges({ pool }: Pick<TestDatabase, 'pool'>): Promise<() => Promise<number[]>> {
  await pool.query(`
    create table changes (count bigint);
    create function count_changes() returns trigger language plpgsql as
      $$ begin insert into changes select count(*) from changed; return null; end $$;
    create trigger counted after update on event_deliveries referencing new table as changed
      for each statement execute function count_changes()`)
  return async () => {
    const { rows } = await pool.query('select count::int from changes where count > 0 order by count desc')
    return rows.map(({ count }) => count)
  }
}
