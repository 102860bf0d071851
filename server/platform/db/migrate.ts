import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type pg from 'pg'
import { StartError } from '../start-error.ts'
import type { Db } from './db.ts'

/** The product's migrations. */
export const MIGRATIONS_DIR = join(import.meta.dirname, '..', '..', 'migrations')

export type Migration = { number: number; name: string; sql: string; sha256: string }

/** `on_pending` is awaited before anything is changed or waited for. `signal` ends it between two migrations, or while another process migrates. */
type Progress = { on_pending?: () => Promise<void>; signal?: AbortSignal }

/**
 * Brings the schema to this version: files `NNNN-name.sql` in order of number, each in one transaction, once. Processes
 * that start together wait for one another. Returns the names it applied.
 * Throws StartError, before changing anything, when a shipped file was edited, when one is missing or out of order, and
 * when the database is newer than this code.
 */
export async function migrate(
  pool: pg.Pool,
  dir: string = MIGRATIONS_DIR,
  { on_pending, signal }: Progress = {},
): Promise<string[]> {
  const files = readMigrations(dir)
  const client = await pool.connect()
  try {
    if ((await isMigrated(client)) && (await findPending(client, files)).length === 0) return []
    await on_pending?.()
    await takeLock(client, signal)
    await client.query(`create table if not exists schema_migrations (
      number integer primary key, name text not null, sha256 text not null, applied_at timestamptz not null default now())`)
    const pending = await findPending(client, files)
    for (const migration of pending) {
      signal?.throwIfAborted()
      await apply(client, migration)
    }
    return pending.map((each) => each.name)
  } finally {
    await client.query(`select pg_advisory_unlock(${LOCK})`).catch(() => {})
    client.release()
  }
}

/** Whether the database has tables of ours, of whatever version. */
export async function isMigrated(pool: pg.Pool | pg.PoolClient): Promise<boolean> {
  const { rows } = await pool.query(`select from pg_attribute
    where attrelid = to_regclass('schema_migrations') and attname = 'sha256' and not attisdropped`)
  return rows.length > 0
}

/** Reads and orders the files. Throws StartError on a name that does not fit or a number used twice. */
export function readMigrations(dir: string): Migration[] {
  const files = readdirSync(dir).filter((name) => name.endsWith('.sql'))
  const migrations = files.map((file) => readMigration(dir, file)).sort((a, b) => a.number - b.number)
  const twice = migrations.find((each, index) => each.number === migrations[index - 1]?.number)
  if (twice) throw new StartError(`Two migrations have the number ${twice.number}: ${dir}`)
  return migrations
}

/** Whether there is a table of this name, of whatever version. */
export async function hasTable(db: Db, table: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`select to_regclass(${table}) is not null as found`.execute(db)
  return rows[0]!.found
}

type Applied = { number: number; name: string; sha256: string }

/** Any number: it only has to be the same in every process. */
const LOCK = 7_301_950_142

const PAUSE_MILLISECONDS = 200

/** Asked for again and again rather than waited for, so that a stop need not wait for the migration of another process. */
async function takeLock(client: pg.PoolClient, signal?: AbortSignal): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ ours: boolean }>(`select pg_try_advisory_lock(${LOCK}) as ours`)
    if (rows[0]!.ours) return
    await sleep(PAUSE_MILLISECONDS, undefined, signal ? { signal } : {})
  }
}

/** What of `files` is missing in the database. Throws StartError when they are not of one history. */
async function findPending(client: pg.PoolClient, files: Migration[]): Promise<Migration[]> {
  const { rows } = await client.query<Applied>('select number, name, sha256 from schema_migrations order by number')
  requireSameHistory(files, rows)
  return files.slice(rows.length)
}

function readMigration(dir: string, file: string): Migration {
  const number = /^(\d{4})-[a-z0-9-]+\.sql$/.exec(file)?.[1]
  if (!number) throw new StartError(`A migration is named NNNN-name.sql, not ${file}.`)
  const sql = readFileSync(join(dir, file), 'utf8')
  const sha256 = createHash('sha256').update(sql).digest('hex')
  return { number: Number(number), name: file.slice(0, -4), sql, sha256 }
}

/** What is applied must be the beginning of what we have, unchanged. */
function requireSameHistory(files: Migration[], applied: Applied[]): void {
  const last = files.at(-1)?.number ?? 0
  const newer = applied.find((row) => row.number > last)
  if (newer)
    throw new StartError(`The database is newer than this version of Kinora: it has migration ${newer.name}. Upgrade.`)
  for (const [index, row] of applied.entries()) {
    const file = files[index]!
    if (file.number < row.number)
      throw new StartError(`Migration ${file.name} comes before ${row.name}, which is already applied.`)
    if (file.number > row.number) throw new StartError(`Migration ${row.name} is applied, but its file is missing.`)
    if (file.sha256 !== row.sha256)
      throw new StartError(`Migration ${file.name} was changed after it was applied. Add a new one.`)
  }
}

async function apply(client: pg.PoolClient, { number, name, sql, sha256 }: Migration): Promise<void> {
  try {
    await client.query('begin')
    await client.query(sql)
    await client.query('insert into schema_migrations (number, name, sha256) values ($1, $2, $3)', [
      number,
      name,
      sha256,
    ])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw new StartError(`Migration ${name} failed and changed nothing: ${(error as Error).message}`)
  }
}
