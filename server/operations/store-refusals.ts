import { sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'

export type Refused = { org_id: string; code: string; count: number }

declare module '../platform/db/db.ts' {
  interface Database {
    refusals: Refused & { since: Date }
  }
}

export async function addRefusals(db: Db, counted: readonly Refused[], now: Date): Promise<void> {
  await sql`
    insert into refusals (org_id, code, since, count)
    select org_id, code, date_bin('5 minutes', ${now}::timestamptz, timestamptz 'epoch'), count
    from jsonb_to_recordset(${JSON.stringify(counted)}::jsonb) as counted (org_id text, code text, count integer)
    order by org_id, code
    on conflict (since, org_id, code) do update set count = refusals.count + excluded.count`.execute(db)
}

/** Those refused most since then, by organization and code. */
export async function findRefusals(db: Db, { since, limit }: { since: Date; limit: number }): Promise<Refused[]> {
  const found = await sql<Refused>`
    select org_id, code, sum(count)::integer as count from refusals where since >= ${since}
    group by org_id, code order by sum(count) desc, org_id, code limit ${limit}`.execute(db)
  return found.rows
}

export async function deleteRefusalsBefore(db: Db, before: Date): Promise<void> {
  await db.deleteFrom('refusals').where('since', '<', before).execute()
}
