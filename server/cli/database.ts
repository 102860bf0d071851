import type pg from 'pg'
import type { Config } from '../config/config.ts'
import { type Pair, pairInstallation, requireSameInstallation } from '../files/installation.ts'
import { openStorage, requireReachable } from '../files/open-blobs.ts'
import { type DataDir, openDataDir } from '../platform/data-dir.ts'
import { openDb } from '../platform/db/db.ts'
import { holdDatabase } from '../platform/db/exclusive.ts'
import { migrate } from '../platform/db/migrate.ts'
import type { Log } from '../platform/log.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../platform/postgres/embedded.ts'
import { StartError } from '../platform/start-error.ts'
import { asStartError, databaseName } from './database-name.ts'

export type OpenDatabase = { url: string; data_dir: DataDir; stop(): Promise<void> }

/**
 * Takes the data directory, brings up the database the configuration names, takes it for this service alone, and migrates it.
 * `meanwhile` is called as soon as there is nothing to do but wait for the database. Throws StartError when another service holds directory
 * or database, the database cannot be used, or the two do not belong together.
 */
export async function openDatabase(config: Config, log: Log, meanwhile?: () => unknown): Promise<OpenDatabase> {
  const data_dir = openDataDir(config.data_dir)
  let embedded: EmbeddedPostgres | null = null
  let held: { release(): Promise<void> } | null = null
  const stop = async () => {
    await held?.release()
    await embedded?.stop()
    data_dir.release()
  }
  try {
    if (config.database_url === null) {
      const line = (detail: string) => log.info('postgres', { detail })
      embedded = await startEmbeddedPostgres({ dir: data_dir.postgres, log: line, meanwhile })
    } else meanwhile?.()
    const url = config.database_url ?? embedded!.url
    const name = embedded ? `The embedded database of ${data_dir.path}` : 'The database of DATABASE_URL'
    const hold = async () => {
      held = await holdDatabase(url, {
        name: name.replace('The', 'the'),
        on_taken: () =>
          log.error('database_taken', { detail: 'Another service runs on this database. Stop one of the two.' }),
      })
    }
    const blobs = openStorage(config.storage, { blobs_dir: data_dir.blobs })
    await requireReachable(blobs)
    await bringUpToDate(url, log, {
      hold,
      data_dir: data_dir.path,
      blobs,
      database: name,
    })
    return { url, data_dir, stop }
  } catch (error) {
    await stop()
    throw asStartError(error, databaseName(config))
  }
}

async function bringUpToDate(
  url: string,
  log: Log,
  { hold, ...files }: Pick<Pair, 'data_dir' | 'blobs' | 'database'> & { hold(): Promise<void> },
): Promise<void> {
  const { db, pool, close } = openDb(url, { pool_max: 2 })
  try {
    await requireSafeServer(pool)
    const { blobsKnown } = await import('../app.ts')
    await requireSameInstallation({ ...files, db, known: blobsKnown(db) })
    await hold()
    for (const name of await migrate(pool)) log.info('migrated', { detail: name })
    await pairInstallation({ db, blobs: files.blobs })
  } finally {
    await close()
  }
}

/** Throws StartError for a server on which a commit could be lost, or whose clock is far from ours. */
export async function requireSafeServer(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ fsync: string; commit: string; skew: number }>(
    "select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit, extract(epoch from clock_timestamp())::float8 - $1 as skew",
    [Date.now() / 1000],
  )
  requireSafeDatabase(rows[0]!)
}

/** Clocks that differ by more than this would expire sessions and signed URLs wrongly. */
const SKEW_SECONDS_MAX = 30

function requireSafeDatabase({ fsync, commit, skew }: { fsync: string; commit: string; skew: number }): void {
  if (fsync !== 'on')
    throw new StartError('The database runs with fsync off and would lose money in a crash. Set fsync = on.')
  if (commit !== 'on') {
    throw new StartError(
      `The database commits with synchronous_commit ${commit}, although the service asked for on: what it acknowledged could be lost in a crash. Name the server itself in DATABASE_URL, not a pooler that changes settings.`,
    )
  }
  if (Math.abs(skew) > SKEW_SECONDS_MAX) {
    throw new StartError(
      `The clocks of this machine and of the database differ by ${Math.round(skew)} seconds. Synchronise them.`,
    )
  }
}
