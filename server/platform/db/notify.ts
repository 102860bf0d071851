import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

export type Listening = { close(): Promise<void> }

type Subscriber = { channel: string; onPayload: (payload: string) => void; onReconnect: () => void }

type Connection = {
  url: string
  client: pg.Client | null
  subscribers: Set<Subscriber>
  closed: AbortController
  ended: Promise<void>
}

/** One connection a database for all channels of this process. */
const connections = new Map<string, Connection>()

/** A connection that died without a word is found by asking; the answer is due as soon. */
const PING_SECONDS = 10

/**
 * Hears `channel` for as long as the process lives: reconnects by itself. Resolves once it listens. What was notified
 * during an outage is lost, so `onReconnect` must treat everything as changed: drop caches, look for work.
 */
export async function listen(
  url: string,
  channel: string,
  onPayload: (payload: string) => void,
  { onReconnect }: { onReconnect: () => void },
): Promise<Listening> {
  const subscriber = { channel, onPayload, onReconnect }
  const connection = connections.get(url) ?? open(url)
  connection.subscribers.add(subscriber)
  await listenNow(connection, subscriber)
  return {
    async close() {
      connection.subscribers.delete(subscriber)
      if (connection.subscribers.size > 0 || connection.closed.signal.aborted) return
      connections.delete(url)
      connection.closed.abort()
      await connection.ended
    },
  }
}

function open(url: string): Connection {
  const connection: Connection = {
    url,
    client: null,
    subscribers: new Set(),
    closed: new AbortController(),
    ended: Promise.resolve(),
  }
  connections.set(url, connection)
  connection.ended = keepConnected(connection)
  return connection
}

/** On a connection that is just coming up or was just lost, `attach` listens for every subscriber instead. */
async function listenNow(connection: Connection, { channel }: Subscriber): Promise<void> {
  while (!connection.closed.signal.aborted) {
    if (!connection.client) {
      await sleep(5)
      continue
    }
    try {
      await connection.client.query(`listen ${pg.escapeIdentifier(channel)}`)
      return
    } catch {
      await sleep(5)
    }
  }
}

async function keepConnected(connection: Connection): Promise<void> {
  const { signal } = connection.closed
  let pause = 50
  for (let first = true; !signal.aborted; ) {
    try {
      const client = await attach(connection)
      if (!first) for (const { onReconnect } of connection.subscribers) onReconnect()
      first = false
      pause = 50
      await untilLost(client, signal)
    } catch {
      pause = Math.min(pause * 2, 5000)
    }
    connection.client = null
    await sleep(pause, undefined, { signal }).catch(() => {})
  }
}

async function attach(connection: Connection): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: connection.url,
    application_name: 'kinora listen',
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    query_timeout: PING_SECONDS * 1000,
  })
  client.on('error', () => {})
  client.on('notification', ({ channel, payload }) => {
    for (const each of connection.subscribers) if (each.channel === channel) each.onPayload(payload ?? '')
  })
  try {
    await client.connect()
    for (const { channel } of connection.subscribers) await client.query(`listen ${pg.escapeIdentifier(channel)}`)
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
  connection.client = client
  return client
}

async function untilLost(client: pg.Client, signal: AbortSignal): Promise<void> {
  const lost = new AbortController()
  client.once('end', () => lost.abort())
  const over = AbortSignal.any([signal, lost.signal])
  try {
    while (!over.aborted) {
      await sleep(PING_SECONDS * 1000, undefined, { signal: over })
      await client.query('select 1')
    }
  } catch {
  } finally {
    await client.end().catch(() => {})
  }
}
