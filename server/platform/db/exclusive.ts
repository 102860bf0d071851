import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { StartError } from '../start-error.ts'

/**
 * Holds the database for one service until `release`. The lock of a data directory does not see a copy of it, or one that is used from
 * another machine; this one does. It belongs to a connection, so a killed service frees it; a lost connection is made again.
 * Throws StartError when another service has held it for five seconds. `name` is the database in messages; `on_taken` is called when
 * another service took it while the connection was lost.
 */
export async function holdDatabase(
  url: string,
  { name, on_taken }: { name: string; on_taken: () => void },
): Promise<{ release(): Promise<void> }> {
  const released = new AbortController()
  const client = await takeWithin(url, TRIES)
  if (!client) {
    throw new StartError(
      `Another service runs on ${name}. One service runs on a database: stop that one first, on whatever machine it is.`,
    )
  }
  const kept = keep(url, client, { signal: released.signal, on_taken })
  return {
    async release() {
      released.abort()
      await kept
    },
  }
}

/** Any number: it only has to be the same in every service. */
const LOCK = 7_301_950_145
const TRIES = 25
const PAUSE_MILLISECONDS = 200

async function takeWithin(url: string, tries: number): Promise<pg.Client | null> {
  for (let left = tries; left > 0; left -= 1) {
    const client = await take(url)
    if (client) return client
    if (left > 1) await sleep(PAUSE_MILLISECONDS)
  }
  return null
}

/** Null while another connection holds the lock. */
async function take(url: string): Promise<pg.Client | null> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'kinora alone',
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ ours: boolean }>('select pg_try_advisory_lock($1) as ours', [LOCK])
    if (rows[0]!.ours) {
      // A machine that lost its power closes nothing: the server notices within half a minute.
      await client.query('set tcp_keepalives_idle = 15; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3')
      return client
    }
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
  await client.end()
  return null
}

async function keep(
  url: string,
  first: pg.Client,
  { signal, on_taken }: { signal: AbortSignal; on_taken: () => void },
): Promise<void> {
  let client: pg.Client | null = first
  while (!signal.aborted) {
    if (client) await untilEnd(client, signal)
    if (signal.aborted) break
    client = await take(url).then(
      (found) => {
        if (!found) on_taken()
        return found
      },
      () => null,
    )
    if (!client) await sleep(PAUSE_MILLISECONDS * 5, undefined, { signal }).catch(() => {})
  }
  await client?.end().catch(() => {})
}

function untilEnd(client: pg.Client, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    client.once('end', () => resolve())
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
