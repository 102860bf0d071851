import { sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'

export type ReloadRow = { id: string; requested_at: Date; requested_by: string }

/** What one process made of a reload. `details`: the names of what changed, or the mistakes. */
export type ProcessAnswer = {
  node_id: string
  host: string
  pid: number
  result: 'applied' | 'unchanged' | 'refused'
  details: string[]
}

declare module '../platform/db/db.ts' {
  interface Database {
    reloads: ReloadRow
    reload_answers: Omit<ProcessAnswer, 'details'> & { details: string; reload_id: string; answered_at: Date }
  }
}

/** Requests kept, with their answers. */
const KEPT = 20

export async function insertReload(db: Db, row: ReloadRow): Promise<void> {
  await db.insertInto('reloads').values(row).execute()
  const kept = db.selectFrom('reloads').select('id').orderBy('id', 'desc').limit(KEPT)
  await db.deleteFrom('reloads').where('id', 'not in', kept).execute()
}

export async function findNewestReload(db: Db): Promise<ReloadRow | null> {
  return (await db.selectFrom('reloads').selectAll().orderBy('id', 'desc').limit(1).executeTakeFirst()) ?? null
}

export async function saveAnswers(db: Db, reload_id: string, answers: readonly ProcessAnswer[]): Promise<void> {
  await sql`
    insert into reload_answers (reload_id, node_id, host, pid, result, details, answered_at)
    select ${reload_id}, node_id, host, pid, result, details, now()
    from jsonb_to_recordset(${JSON.stringify(answers)}::jsonb) as a (node_id text, host text, pid integer, result text, details jsonb)
    on conflict do nothing`.execute(db)
}

export async function findAnswers(db: Db, reload_id: string): Promise<ProcessAnswer[]> {
  const found = await sql<ProcessAnswer>`
    select node_id, host, pid, result, details from reload_answers where reload_id = ${reload_id}
    order by host, node_id, pid`.execute(db)
  return found.rows
}

/** How many processes of services listen for announcements in this database. */
export async function countListeners(db: Db): Promise<number> {
  const found = await sql<{ n: bigint }>`
    select count(*) as n from pg_stat_activity where datname = current_database() and application_name = 'kinora listen'`.execute(
    db,
  )
  return Number(found.rows[0]!.n)
}
