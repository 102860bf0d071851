import { sql } from 'kysely'
import type pg from 'pg'
import { StartError } from '../../start-error.ts'
import type { Db } from '../db.ts'

/** Any number: it only has to be the same in every process. */
const LOCK = 7_301_950_160
/** Removals hold the lock for less than a statement. */
const WAIT_SECONDS = 10

/**
 * Keeps every blob where it is until the connection ends, however it ends: what a snapshot taken afterwards names stays readable. Throws
 * StartError while another backup has it.
 */
export async function lockBlobs(client: pg.ClientBase, { wait_seconds = WAIT_SECONDS } = {}): Promise<void> {
  await client.query(`set lock_timeout = ${wait_seconds * 1000}`)
  try {
    await client.query(`select pg_advisory_lock(${LOCK})`)
  } catch (error) {
    if ((error as { code?: string }).code !== '55P03') throw error
    throw new StartError('Another backup of this database is being taken. Wait until it has ended.')
  }
}

/**
 * Whether blobs may be removed. Ask after the deletion of their row is committed: then no backup that begins later names them, and one
 * that began before is seen here.
 */
export async function areBlobsFree(db: Db): Promise<boolean> {
  const { rows } = await sql<{ free: boolean }>`
    select pg_try_advisory_xact_lock_shared(${sql.lit(LOCK)}) as free`.execute(db)
  return rows[0]!.free
}
