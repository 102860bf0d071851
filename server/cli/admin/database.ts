import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type pg from 'pg'
import type { Config } from '../../config/config.ts'
import { type DataDir, openDataDir, postgresHome } from '../../platform/data-dir.ts'
import { type Database, openDb } from '../../platform/db/db.ts'
import { findPending, isMigrated, MIGRATIONS_DIR, migrate, readMigrations } from '../../platform/db/migrate.ts'
import { hasCluster, runningPostgresUrl, startEmbeddedPostgres } from '../../platform/postgres/embedded.ts'
import { StartError } from '../../platform/start-error.ts'
import { asStartError, databaseName } from '../database-name.ts'

/** `name` describes the database without its credentials. */
export type AdminDatabase = {
  db: Kysely<Database>
  pool: pg.Pool
  url: string
  name: string
  close(): Promise<void>
}

/** A service that is just starting holds its directory before its database answers. */
const STARTING_SECONDS = 15

/**
 * The database that `serve` uses: DATABASE_URL, else that of the service running on the data directory, else the
 * directory's own database, started for the duration. Only the last is brought to this version's schema, unless `migrate` is false: on the
 * others nodes of an older version may run, which could not be started again. Throws StartError when there is none, when that of
 * DATABASE_URL was never used, and when it is of another version; `migrate: false` leaves the version to the caller. `read_only_too`: a
 * server that takes no writes will do.
 */
export async function openAdminDatabase(
  config: Pick<Config, 'database_url' | 'data_dir'>,
  options: { migrate?: boolean; read_only_too?: boolean } = {},
): Promise<AdminDatabase> {
  const { url, stop } = config.database_url
    ? { url: config.database_url, stop: null }
    : await findEmbedded(config.data_dir)
  const name = databaseName(config)
  const { db, pool, close } = openDb(url, { pool_max: 4, read_only_too: options.read_only_too ?? false })
  const closeAll = async () => {
    await close()
    await stop?.()
  }
  try {
    if (config.database_url !== null || options.migrate === false) await requireUsed(pool, name)
    // A service that starts for the first time may not have made its tables yet.
    const ours = stop !== null || !(await isMigrated(pool))
    if (options.migrate !== false) await (ours ? migrate(pool) : requireCurrent(pool, name))
    return { db, pool, url, name, close: closeAll }
  } catch (error) {
    await closeAll()
    throw asStartError(error, name)
  }
}

/** Throws StartError for a database without tables of ours: a command that makes them would hide a mistyped DATABASE_URL. */
export async function requireUsed(pool: pg.Pool, name: string): Promise<void> {
  if (await isMigrated(pool)) return
  throw new StartError(
    `${capitalized(name)} has never been used by Kinora. Check DATABASE_URL, or start the service on it first: kinora serve.`,
  )
}

/** Throws StartError for a database of ours of another version than this one. */
export async function requireCurrent(pool: pg.Pool, name: string): Promise<void> {
  const files = readMigrations(MIGRATIONS_DIR)
  const pending = await findPending(pool, files)
  if (pending.length === 0) return
  const last = files.at(-1 - pending.length)?.name ?? 'no migration'
  throw new StartError(
    `${capitalized(name)} is of an older version of Kinora: it has ${last}, and this version needs ${files.at(-1)!.name}. ` +
      "Use the command of the version that serves, or upgrade first: start the new service, or run 'kinora migrate'.",
  )
}

function capitalized(name: string): string {
  return name.replace(/^the/, 'The')
}

async function findEmbedded(data_dir: string): Promise<{ url: string; stop: (() => Promise<void>) | null }> {
  const home = postgresHome(data_dir)
  if (!existsSync(home)) {
    throw new StartError(
      `No service has run in ${data_dir}. Start one with 'kinora serve', name its directory with --data-dir, or set DATABASE_URL.`,
    )
  }
  const until = performance.now() + STARTING_SECONDS * 1000
  for (;;) {
    const running = runningPostgresUrl(home)
    if (running) return { url: running, stop: null }
    const late = performance.now() > until
    if (late && !hasCluster(home)) throw databaseElsewhere(data_dir)
    const dir = tryOpen(data_dir, late)
    if (dir) {
      if (hasCluster(home)) return startIn(dir)
      dir.release()
      throw databaseElsewhere(data_dir)
    }
    await sleep(100)
  }
}

/** A node's directory: a command that made a database there would find it empty and clean. */
function databaseElsewhere(data_dir: string): StartError {
  return new StartError(
    `The service of ${data_dir} has no database of its own there. Set DATABASE_URL as that service has it, or name another directory with --data-dir.`,
  )
}

/** Null while another process holds the directory. */
function tryOpen(data_dir: string, last: boolean): DataDir | null {
  try {
    return openDataDir(data_dir)
  } catch (error) {
    if (last) throw error
    return null
  }
}

async function startIn(dir: DataDir): Promise<{ url: string; stop: () => Promise<void> }> {
  try {
    const server = await startEmbeddedPostgres({ dir: dir.postgres })
    return {
      url: server.url,
      async stop() {
        await server.stop()
        dir.release()
      },
    }
  } catch (error) {
    dir.release()
    throw error
  }
}
