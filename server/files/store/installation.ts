import { type Generated, sql } from 'kysely'
import type { Db, Tx } from '../../platform/db/db.ts'
import { hasTable } from '../../platform/db/migrate.ts'

export type InstallationRow = { id: string; moved_from: string | null; moved_to: string | null }

declare module '../../platform/db/db.ts' {
  interface Database {
    installation: InstallationRow & { single: Generated<boolean>; created_at: Generated<Date> }
  }
}

/** Null: the database has never been paired with files. Also asked of a database without our tables. */
export async function findInstallation(db: Db): Promise<InstallationRow | null> {
  if (!(await hasTable(db, 'installation'))) return null
  const row = await db.selectFrom('installation').select(['id', 'moved_from', 'moved_to']).executeTakeFirst()
  return row ?? null
}

/** Whether nobody has used the database: it has no organization. Also asked of a database without our tables. */
export async function isUnused(db: Db): Promise<boolean> {
  if (!(await hasTable(db, 'organizations'))) return true
  return (await db.selectFrom('organizations').select('id').limit(1).executeTakeFirst()) === undefined
}

/** Whether any row needs a blob. */
export async function namesBlobs(db: Db): Promise<boolean> {
  const { rows } = await sql<{ named: boolean }>`
    select exists (select from files) or exists (select from video_jobs where blob_key is not null) as named`.execute(
    db,
  )
  return rows[0]!.named
}

/** Writes the one row unless there is one. */
export async function insertInstallation(db: Db, row: { id: string; moved_from?: string }): Promise<void> {
  const { id, moved_from = null } = row
  await db
    .insertInto('installation')
    .values({ id, moved_from, moved_to: null })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export async function updateInstallation(db: Db, change: Partial<InstallationRow>): Promise<void> {
  await db.updateTable('installation').set(change).execute()
}

/** Those who pair this database do so one after another. Ends with the transaction. */
export async function lockPairing(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${PAIRING_LOCK}::bigint)`.execute(tx)
}

/** Any number: it only has to be the same in every process. */
const PAIRING_LOCK = 7_301_950_147
