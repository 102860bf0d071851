import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { StartError } from '../start-error.ts'
import { databaseClientOptions, newClient } from './client-options.ts'
import { type OutageListener, requireOwnSession, untilLost, watchOutage } from './listen-connection.ts'

/** `alone`: nobody else may use the database. `shared`: others that lock it shared may. */
export type LockMode = 'alone' | 'shared'

export type LockOptions = {
  mode: LockMode
  /** The id of this node: while its lock is held, the others know that it is alive. */
  node: string
  /** Why the database cannot be had, for the operator: those that run on it have locked it as `held`. */
  refusal: (held: LockMode) => string
  /** Others took the database while the connection was lost, and have locked it as `held`. It may be called more than once. */
  on_taken: (held: LockMode) => void
  /** How long others are waited for; a service that is being replaced ends within them. */
  wait_seconds?: number
} & Partial<OutageListener>

/**
 * Holds the database for one node until `release`. The lock of a data directory does not see a copy of it, or one that is used from
 * another machine; this one does. It belongs to a connection, so a killed node frees it; a lost connection is made again.
 * Throws StartError when it has not been had within `wait_seconds`, five by default.
 */
export async function lockDatabase(url: string, options: LockOptions): Promise<{ release(): Promise<void> }> {
  const released = new AbortController()
  const client = await takeWithin(url, options)
  const kept = keep(url, client, { ...options, signal: released.signal })
  return {
    async release() {
      released.abort()
      await kept
    },
  }
}

/** Any number: it only has to be the same in every service. */
const LOCK = 7_301_950_145
/** The lock of an id is `hashtextextended(id, LOCK_OF_ID)`. */
export const LOCK_OF_ID = 7_301_950_146
const PAUSE_MILLISECONDS = 200

async function takeWithin(url: string, options: LockOptions): Promise<pg.Client> {
  const { wait_seconds = 5 } = options
  for (let left = (wait_seconds * 1000) / PAUSE_MILLISECONDS; ; left -= 1) {
    const { client, held } = await take(url, options)
    if (client) return client
    if (left < 1) throw new StartError(options.refusal(held ?? 'alone'))
    await sleep(PAUSE_MILLISECONDS)
  }
}

type Taken = { client: pg.Client | null; held: LockMode | null }

/** Without a client, how others have locked the database against it; null when they no longer do. */
async function take(url: string, { mode, node }: Pick<LockOptions, 'mode' | 'node'>): Promise<Taken> {
  const client = newClient({
    ...databaseClientOptions(url),
    application_name: nameOf(node),
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    query_timeout: 10_000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    await requireOwnSession(client, url)
    if (await tryLocks(client, { mode, node })) {
      // A machine that lost its power closes nothing: the server notices within half a minute.
      await client.query('set tcp_keepalives_idle = 15; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3')
      return { client, held: null }
    }
    await endEarlierConnections(client, node)
    const held = await heldAgainst(client, { mode, node })
    await client.end()
    return { client: null, held }
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
}

function nameOf(node: string): string {
  return `kinora ${node}`
}

async function tryLocks(client: pg.Client, { mode, node }: Pick<LockOptions, 'mode' | 'node'>): Promise<boolean> {
  const lock = mode === 'alone' ? 'pg_try_advisory_lock' : 'pg_try_advisory_lock_shared'
  const { rows } = await client.query<{ ours: boolean }>(
    `select ${lock}($1) and pg_try_advisory_lock(hashtextextended($2, ${LOCK_OF_ID})) as ours`,
    [LOCK, node],
  )
  return rows[0]!.ours
}

/** A connection that this node has lost may still be open at the server, and hold the locks. */
async function endEarlierConnections(client: pg.Client, node: string): Promise<void> {
  await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = $1 and datname = current_database() and pid <> pg_backend_pid()`,
    [nameOf(node)],
  )
}

/** How others have locked the database so that it cannot be locked in `mode`; null when they do not. */
async function heldAgainst(
  client: pg.Client,
  { mode, node }: Pick<LockOptions, 'mode' | 'node'>,
): Promise<LockMode | null> {
  const { rows } = await client.query<{ mode: string }>(
    `select mode from pg_locks left join pg_stat_activity using (pid)
      where locktype = 'advisory' and granted and objsubid = 1 and pid <> pg_backend_pid()
        and database = (select oid from pg_database where datname = current_database())
        and ((classid::bigint << 32) | objid::bigint) = $1 and application_name is distinct from $2
        and ($3 or mode = 'ExclusiveLock') limit 1`,
    [LOCK, nameOf(node), mode === 'alone'],
  )
  if (!rows[0]) return null
  return rows[0].mode === 'ShareLock' ? 'shared' : 'alone'
}

async function keep(url: string, first: pg.Client, options: LockOptions & { signal: AbortSignal }): Promise<void> {
  const { signal } = options
  const outage = watchOutage(options)
  let client: pg.Client | null = first
  while (!signal.aborted) {
    if (client) await untilLost(client, signal)
    if (signal.aborted) break
    const taken = await take(url, options).catch((error: unknown): Taken => {
      if (!signal.aborted) outage.failed(error)
      return { client: null, held: null }
    })
    client = taken.client
    if (client) outage.ended()
    if (taken.held !== null) options.on_taken(taken.held)
    if (!client) await sleep(PAUSE_MILLISECONDS * 5, undefined, { signal }).catch(() => {})
  }
  await client?.end().catch(() => {})
}
