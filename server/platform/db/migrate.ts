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

export type MigrateOptions = {
  /** Awaited before anything is changed or waited for. */
  on_pending?: () => Promise<void>
  /** Ends it between two migrations, or while another process migrates. */
  signal?: AbortSignal
  /** The last number to apply. */
  up_to?: number
  /** How long one is tried while others hold its tables. */
  patience_seconds?: number
}

/**
 * Brings the schema to this version: files `NNNN-name.sql` in order of number, each in one transaction, once. Processes
 * that start together wait for one another. Returns the names it applied.
 * The previous version may be serving meanwhile: a lock that is not had within a second is given up, so that no request queues behind it,
 * and the migration is tried again.
 * Throws StartError, before changing anything, when a shipped file was edited, when one is missing or out of order, when the database is
 * newer than this code, and when a build before version 0.1.0 made it.
 */
export async function migrate(
  pool: pg.Pool,
  dir: string = MIGRATIONS_DIR,
  { on_pending, signal, up_to = Number.POSITIVE_INFINITY, patience_seconds = PATIENCE_SECONDS }: MigrateOptions = {},
): Promise<string[]> {
  const files = readMigrations(dir)
  const client = await pool.connect()
  try {
    if ((await isMigrated(client)) && (await findPending(client, files)).length === 0) return []
    await on_pending?.()
    await takeLock(client, signal)
    await client.query(`create table if not exists schema_migrations (
      number integer primary key, name text not null, sha256 text not null, applied_at timestamptz not null default now())`)
    const pending = (await findPending(client, files)).filter(({ number }) => number <= up_to)
    for (const migration of pending) {
      signal?.throwIfAborted()
      await applyPatiently(client, migration, { patience_seconds, signal })
    }
    return pending.map((each) => each.name)
  } finally {
    await client.query(`select pg_advisory_unlock(${LOCK})`).catch(() => {})
    client.release()
  }
}

/** What of `files` is missing in a database that has tables of ours. Throws StartError when they are not of one history. */
export async function findPending(client: pg.Pool | pg.ClientBase, files: Migration[]): Promise<Migration[]> {
  const rows = await appliedMigrations(client)
  requireSameHistory(files, rows)
  return files.slice(rows.length)
}

/** What was applied to the database, in order. */
export async function appliedMigrations(client: pg.Pool | pg.ClientBase): Promise<AppliedMigration[]> {
  const { rows } = await client.query<AppliedMigration>(
    'select number, name, sha256 from schema_migrations order by number',
  )
  return rows
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

/** Throws StartError when the database has tables of ours of another history than this code's. Changes nothing. */
export async function requireKnownHistory(pool: pg.Pool): Promise<void> {
  if (await isMigrated(pool)) requireSameHistory(readMigrations(MIGRATIONS_DIR), await appliedMigrations(pool))
}

/** Whether there is a table of this name: a database that was never used has none of ours. */
export async function hasTable(db: Db, table: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`select to_regclass(${table}) is not null as found`.execute(db)
  return rows[0]!.found
}

export type AppliedMigration = { number: number; name: string; sha256: string }

/** Any number: it only has to be the same in every process. */
const LOCK = 7_301_950_142
/** As long as requests may queue behind a migration that waits for a table. */
const LOCK_MILLISECONDS = 1000
/** Longer than any transaction of ours; a backup holds tables as long as it copies rows. */
const PATIENCE_SECONDS = 600
/** How a file begins whose statements run one by one, since PostgreSQL refuses them in a transaction: they can be repeated. */
const NO_TRANSACTION = /^-- no transaction\b/

const PAUSE_MILLISECONDS = 200

/**
 * Asked for again and again rather than waited for, so that a stop need not wait for the migration of another process; and a statement that
 * waits has a snapshot, which `create index concurrently` would wait for.
 */
async function takeLock(client: pg.PoolClient, signal?: AbortSignal): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ ours: boolean }>(`select pg_try_advisory_lock(${LOCK}) as ours`)
    if (rows[0]!.ours) return
    await sleep(PAUSE_MILLISECONDS, undefined, signal ? { signal } : {})
  }
}

function readMigration(dir: string, file: string): Migration {
  const number = /^(\d{4})-[a-z0-9-]+\.sql$/.exec(file)?.[1]
  if (!number) throw new StartError(`A migration is named NNNN-name.sql, not ${file}.`)
  const sql = readFileSync(join(dir, file), 'utf8')
  const sha256 = createHash('sha256').update(sql).digest('hex')
  return { number: Number(number), name: file.slice(0, -4), sql, sha256 }
}

/** Throws StartError unless what is applied is the beginning of what we have, unchanged. `what` has that history. */
export function requireSameHistory(
  files: readonly Migration[],
  applied: readonly AppliedMigration[],
  what: 'The database' | 'The backup' = 'The database',
): void {
  const [baseline, first] = [files[0], applied[0]]
  if (first?.number === baseline?.number && first?.name !== baseline?.name)
    throw new StartError(
      `${what} was made by a build of Kinora before version 0.1.0, whose data cannot be upgraded: begin with a new data directory, and with an empty database if DATABASE_URL is set.`,
    )
  const last = files.at(-1)?.number ?? 0
  const newer = applied.find((row) => row.number > last)
  if (newer)
    throw new StartError(`${what} is newer than this version of Kinora: it has migration ${newer.name}. Upgrade.`)
  for (const [index, row] of applied.entries()) {
    const file = files[index]!
    if (file.number < row.number)
      throw new StartError(`Migration ${file.name} comes before ${row.name}, which is already applied.`)
    if (file.number > row.number) throw new StartError(`Migration ${row.name} is applied, but its file is missing.`)
    if (file.sha256 !== row.sha256)
      throw new StartError(`Migration ${file.name} was changed after it was applied. Add a new one.`)
  }
}

async function applyPatiently(
  client: pg.PoolClient,
  migration: Migration,
  {
    patience_seconds,
    signal,
  }: Required<Pick<MigrateOptions, 'patience_seconds'>> & { signal: AbortSignal | undefined },
): Promise<void> {
  const until = performance.now() + patience_seconds * 1000
  for (;;) {
    try {
      return await (NO_TRANSACTION.test(migration.sql) ? applyInSteps : apply)(client, migration)
    } catch (error) {
      const { code, message } = error as Error & { code?: string }
      if (code !== LOCK_NOT_AVAILABLE)
        throw new StartError(
          `Migration ${migration.name} failed${NO_TRANSACTION.test(migration.sql) ? '' : ' and changed nothing'}: ${message}`,
        )
      if (performance.now() > until) {
        throw new StartError(
          `Migration ${migration.name} changed nothing: for ${patience_seconds} seconds other transactions held what it changes. Find them in pg_stat_activity (a backup, an open session of psql), end them, and try again.`,
        )
      }
      await sleep(PAUSE_MILLISECONDS, undefined, signal ? { signal } : {})
    }
  }
}

/** PostgreSQL, Appendix A. */
const LOCK_NOT_AVAILABLE = '55P03'

async function apply(client: pg.PoolClient, migration: Migration): Promise<void> {
  try {
    await client.query(`begin; set local lock_timeout = ${LOCK_MILLISECONDS}`)
    await client.query(migration.sql)
    await note(client, migration)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

async function applyInSteps(client: pg.PoolClient, migration: Migration): Promise<void> {
  // It locks without keeping anybody out, and has to wait for transactions that began before.
  await client.query('set lock_timeout = 0')
  for (const statement of migration.sql.split(/;\s*$/m)) if (statement.trim() !== '') await client.query(statement)
  await note(client, migration)
}

async function note(client: pg.PoolClient, { number, name, sha256 }: Migration): Promise<void> {
  await client.query('insert into schema_migrations (number, name, sha256) values ($1, $2, $3)', [number, name, sha256])
}
