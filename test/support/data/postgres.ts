import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Kysely } from 'kysely'
import pg from 'pg'
import { type Database, openDb } from '../../../server/platform/db/db.ts'
import { MIGRATIONS_DIR, migrate, readMigrations } from '../../../server/platform/db/migrate.ts'
import { startEmbeddedPostgres } from '../../../server/platform/postgres/embedded.ts'

export type TestDatabase = {
  url: string
  db: Kysely<Database>
  pool: pg.Pool
  /** Empties every table, also append-only ones. */
  truncateAll(): Promise<void>
  close(): Promise<void>
}

export type TestServer = { url: string; stop(): Promise<void> }

/**
 * A database of one's own, migrated, on the run's server: `TEST_DATABASE_URL`, else `KINORA_TEST_PG` (the runner's), else
 * one that this process starts and takes away again.
 */
export async function testDatabase(options: { pool_max?: number } = {}): Promise<TestDatabase> {
  const server = await postgresServer()
  const name = `kinora_test_${randomBytes(6).toString('hex')}`
  const template = await migratedTemplate(server)
  await withClient(server, (client) => client.query(`create database ${name} template ${template}`))
  const url = withDatabase(server, name)
  const { db, pool, close } = openDb(url, options)
  return {
    url,
    db,
    pool,
    truncateAll: () => truncateAll(pool),
    async close() {
      await close()
      await withClient(server, (client) => client.query(`drop database ${name} with (force)`))
    },
  }
}

/** The address of the run's server. */
export async function postgresServer(): Promise<string> {
  return process.env.TEST_DATABASE_URL ?? process.env.KINORA_TEST_PG ?? (await ownServer()).url
}

/** A PostgreSQL for a whole run, in a temporary directory: the embedded one, `bin`'s, or that of another copy of the package. */
export async function startTestServer(options: { bin?: string; native?: string } = {}): Promise<TestServer> {
  const dir = mkdtempSync(join(inMemory() ?? tmpdir(), 'kinora-pg-'))
  // Installed servers before 16 insist on walking to their directory as their own user.
  chmodSync(dir, 0o711)
  const remove = () => rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  const server = await startEmbeddedPostgres({ dir, ...options })
  const onExit = () => {
    process.kill(server.pid(), 'SIGKILL')
    remove()
  }
  const onSignal = () => process.exit(1)
  process.on('exit', onExit).on('SIGINT', onSignal).on('SIGTERM', onSignal)
  return {
    url: server.url,
    async stop() {
      process.off('exit', onExit).off('SIGINT', onSignal).off('SIGTERM', onSignal)
      await server.stop()
      remove()
    },
  }
}

const MEMORY = '/dev/shm'
const MEMORY_BYTES_MIN = 4 * 2 ** 30

/** A file system in memory, where Linux has one with room: a commit there is durable at once. No test cuts the power. */
export function inMemory(): string | null {
  if (!existsSync(MEMORY)) return null
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize >= MEMORY_BYTES_MIN ? MEMORY : null
}

let own: Promise<TestServer> | null = null

function ownServer(): Promise<TestServer> {
  own ??= startTestServer()
  return own
}

/** Migrates once for each set of migrations; every database is a copy. It appears under its name only when complete. */
async function migratedTemplate(server: string): Promise<string> {
  const migrations = readMigrations(MIGRATIONS_DIR)
  const hash = createHash('sha256')
    .update(migrations.map((each) => each.name + each.sha256).join())
    .digest('hex')
  const name = `kinora_template_${hash.slice(0, 16)}`
  await withClient(server, async (client) => {
    await client.query('select pg_advisory_lock(7301950143)')
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
    if (rowCount) return
    const draft = `${name}_${randomBytes(3).toString('hex')}`
    await client.query(`create database ${draft}`)
    const { pool, close } = openDb(withDatabase(server, draft))
    await migrate(pool).finally(close)
    await client.query(`alter database ${draft} rename to ${name}`)
  })
  return name
}

/** Only tables with rows, in one statement; triggers are off, so append-only tables empty too. */
async function truncateAll(pool: pg.Pool): Promise<void> {
  await pool.query(`
    do $$
    declare each record; filled text[] := '{}'; found boolean;
    begin
      for each in
        select format('%I.%I', schemaname, tablename) as name from pg_tables
        where schemaname = 'public' and tablename <> 'schema_migrations'
      loop
        execute 'select exists (select from ' || each.name || ')' into found;
        if found then filled := filled || each.name; end if;
      end loop;
      set local session_replication_role = replica;
      if cardinality(filled) > 0 then
        execute 'truncate ' || array_to_string(filled, ', ') || ' restart identity cascade';
      end if;
    end $$`)
}

async function withClient(url: string, use: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await use(client)
  } finally {
    await client.end()
  }
}

function withDatabase(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}
