import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Config } from '../config/config.ts'
import { isShared } from '../config/storage.ts'
import { type Pair, pairInstallation, requireSameInstallation } from '../files/installation.ts'
import { openStorage, requireReachable } from '../files/open-blobs.ts'
import { compareConnections } from '../nodes/connections.ts'
import { joinNodes, requireFittingNode } from '../nodes/join.ts'
import { deleteNode, findConnectionLimits, type NewNode, type NodeRow } from '../nodes/store.ts'
import { type DataDir, openDataDir } from '../platform/data-dir.ts'
import { type LockMode, lockDatabase } from '../platform/db/database-lock.ts'
import { type Db, isDatabaseDown, openDb, outageOf } from '../platform/db/db.ts'
import { MIGRATIONS_DIR, migrate, requireKnownHistory } from '../platform/db/migrate.ts'
import { untilReachable, type Waiting } from '../platform/db/reachable.ts'
import { requireOwnSessions } from '../platform/db/usable.ts'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import { startEmbeddedPostgres } from '../platform/postgres/embedded.ts'
import { openWithStops } from '../platform/start/stops.ts'
import { StartError } from '../platform/start-error.ts'
import { lowerFirst } from '../platform/text.ts'
import { asStartError, databaseName } from './database-name.ts'

export type OpenDatabase = { url: string; data_dir: DataDir; stop(): Promise<void> }

/** Before a database that went away while it was being opened is opened again. */
const AGAIN_MILLISECONDS = 500

/** `keep` stores its secret: called once nothing has refused the node, before the database knows the fingerprint of that secret. */
type Joining = { node: NewNode; keep(): void }

export type OpenOptions = {
  /** Called as soon as there is nothing to do but wait for the database. */
  meanwhile?: () => unknown
  /** Describes the node that starts, once the data directory is held; without it, as for a migration, no node joins. */
  joining?: (data_dir: DataDir) => Promise<Joining>
  /** How an external database that is away is waited for; without it that is an error. */
  waiting?: Waiting
  /** Others took the database: see `lockDatabase`. */
  on_taken?: () => void
}

/**
 * Takes the data directory, brings up the database the configuration names, holds it, and migrates it. A node whose files are on its own disk
 * holds it alone, nodes with a bucket share it. Throws StartError when another service holds directory or database, the database cannot be
 * used, or it does not belong with the files, the secret or the nodes that run on it.
 */
export async function openDatabase(config: Config, log: Log, options: OpenOptions = {}): Promise<OpenDatabase> {
  try {
    return await openWithStops(log, (stops) => takeDatabase(config, { log, stops, ...options }))
  } catch (error) {
    if (config.database_url !== null && options.waiting && isDatabaseDown(error)) {
      log.warn('database_lost', { detail: 'The database went away while it was being opened. Beginning again.', error })
      await sleep(AGAIN_MILLISECONDS, undefined, { signal: options.waiting.signal })
      return openDatabase(config, log, options)
    }
    throw asStartError(error, databaseName(config))
  }
}

type Taking = OpenOptions & { log: Log; stops: AsyncDisposableStack }

async function takeDatabase(config: Config, { log, stops, ...options }: Taking): Promise<OpenDatabase> {
  const data_dir = stops.adopt(openDataDir(config.data_dir), ({ release }) => release())
  const joining = options.joining?.(data_dir)
  // Awaited below, once the database has been started.
  joining?.catch(() => {})
  const { url, name } = await reach(config, data_dir, { log, stops, ...options })
  const lock = async (node: string) => {
    const { release } = await lockDatabase(url, {
      node,
      mode: isShared(config.storage) ? 'shared' : 'alone',
      refusal: (held) => refusalOfLock(config, held, lowerFirst(name)),
      on_taken(held) {
        log.error('database_taken', { detail: refusalOfLock(config, held, lowerFirst(name)) })
        options.on_taken?.()
      },
      on_error: (error) => log.warn('database_lock_lost', { error }),
      on_recovered: () => log.info('database_lock_back'),
    })
    stops.defer(release)
  }
  const joined = await joining
  const blobs = openStorage(config.storage, { blobs_dir: data_dir.blobs })
  await requireReachable(blobs)
  await bringUpToDate(
    { url, config, log, waiting: options.waiting },
    { lock, joined, data_dir: data_dir.path, blobs, database: name },
  )
  if (joined) stops.defer(() => leaveNodes(url, joined.node.id))
  return { url, data_dir, stop: () => stops.disposeAsync() }
}

/** Starts the embedded database, or waits for the external one. `name`: how messages name it at the start of a sentence. */
async function reach(
  config: Config,
  data_dir: DataDir,
  { log, stops, meanwhile, waiting }: Taking,
): Promise<{ url: string; name: string }> {
  if (config.database_url === null) {
    const line = (detail: string) => log.info('postgres', { detail })
    const embedded = await startEmbeddedPostgres({ dir: data_dir.postgres, log: line, meanwhile })
    stops.defer(embedded.stop)
    if (embedded.shared_user !== null) {
      log.warn('postgres_user_is_shared', {
        detail:
          `PostgreSQL runs as ${embedded.shared_user}, since the service runs as root. Other programs that run as this user can read the ` +
          `database. Stop the service, create a user named kinora and give it the database: chown -R kinora ${data_dir.postgres}/cluster`,
      })
    }
    return { url: embedded.url, name: `The embedded database of ${data_dir.path}` }
  }
  meanwhile?.()
  if (waiting) await untilReachable(config.database_url, { name: databaseName(config), log, waiting })
  return { url: config.database_url, name: 'The database of DATABASE_URL' }
}

async function bringUpToDate(
  { url, config, log, waiting }: { url: string; config: Config; log: Log; waiting: Waiting | undefined },
  {
    lock,
    joined,
    ...files
  }: Pick<Pair, 'data_dir' | 'blobs' | 'database'> & {
    lock(node: string): Promise<void>
    joined: Joining | undefined
  },
): Promise<void> {
  const node = joined?.node
  const { db, pool, close } = openDb(url, { pool_max: 2 })
  try {
    await requireSafeServer(pool)
    await requireKnownHistory(pool)
    const { blobsKnown } = await import('../assembly/background.ts')
    await requireSameInstallation({ ...files, db, known: blobsKnown(db) })
    await lock(node?.id ?? newId('node'))
    if (node) {
      const others = await requireFittingNode(db, node)
      await requireConnections(db, { config, log, others })
    }
    const on_pending = async () => void (await waiting?.answer('migrating'))
    const progress = waiting ? { on_pending, signal: waiting.signal } : {}
    for (const name of await migrate(pool, MIGRATIONS_DIR, progress)) log.info('migrated', { detail: name })
    await pairInstallation({ db, blobs: files.blobs })
    joined?.keep()
    if (node) await joinNodes(db, node)
  } finally {
    await close()
  }
}

/** Logs how many connections the node opens. Throws StartError when PostgreSQL allows too few to run at all. */
async function requireConnections(
  db: Db,
  { config, log, others }: { config: Config; log: Log; others: readonly NodeRow[] },
): Promise<void> {
  const limits = await findConnectionLimits(db)
  const own = { workers: config.workers, pool: config.database.pool }
  const { outcome, detail } = compareConnections(
    own,
    limits,
    others.map(({ connections }) => connections),
  )
  if (outcome === 'impossible') throw new StartError(detail)
  log[outcome === 'enough' ? 'info' : 'warn']('database_connections', { detail })
}

/** Best effort: a node that could not say so is seen to be gone by its lock. */
async function leaveNodes(url: string, id: string): Promise<void> {
  const { db, close } = openDb(url, { pool_max: 1 })
  await deleteNode(db, id).catch(() => {})
  await close()
}

/** Why the database cannot be locked, in words: others have locked it as `held`. */
function refusalOfLock({ storage }: Config, held: LockMode, name: string): string {
  if (!isShared(storage) && held === 'alone') {
    return (
      `Another service runs on ${name}. A service whose files are on its own disk has a database to itself: stop that one first, on whatever ` +
      'machine it is. To run several nodes, keep the files in a bucket (storage.kind: s3).'
    )
  }
  if (!isShared(storage)) {
    return (
      `Nodes that keep their files in a bucket run on ${name}, and would not find the files on the disk of this one. ` +
      'Set storage to the bucket that they use, without also_read of a disk.'
    )
  }
  return (
    `A service that keeps its files on its own disk runs on ${name}, and would not find those in the bucket. ` +
    'Stop it first, on whatever machine it is, and set its storage to the bucket too.'
  )
}

/** Throws StartError for a server on which a commit could be lost, whose clock is far from ours, or whose sessions others use as well. */
export async function requireSafeServer(pool: pg.Pool): Promise<void> {
  await requireSessions(pool)
  const { rows } = await pool.query<{ fsync: string; commit: string; skew: number }>(
    "select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit, extract(epoch from clock_timestamp())::float8 - $1 as skew",
    [Date.now() / 1000],
  )
  requireSafeDatabase(rows[0]!)
}

async function requireSessions(pool: pg.Pool): Promise<void> {
  const [first, second] = await Promise.all([pool.connect(), pool.connect()])
  try {
    await requireOwnSessions(
      (text) => first.query(text),
      (text) => second.query(text),
    )
  } catch (error) {
    if (outageOf(error) !== 'sessions_shared') throw error
    throw new StartError(
      'DATABASE_URL leads to a connection pooler whose clients share sessions, as PgBouncer does with pool_mode = transaction: locks and prepared statements would be lost. Set pool_mode = session, or name PostgreSQL itself.',
    )
  } finally {
    first.release()
    second.release()
  }
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
