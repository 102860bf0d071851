import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { databaseClientOptions, newClient } from './client-options.ts'
import { requireWritable } from './db.ts'
import { requireOwnSessions, sessionsShared } from './usable.ts'

export type ListenOptions = {
  url: string
  channels: readonly string[]
  /** Called with each connection before it is used: what is to last as long as it does. */
  onConnect?: ((client: pg.ClientBase) => Promise<void>) | undefined
  onPayload: (payload: string, channel: string) => void
  /** Notifications sent during an outage are lost: treat everything as changed. */
  onReconnect: () => void
  /** Ends the wait for the first connection. */
  signal?: AbortSignal | undefined
} & Partial<OutageListener>

/** Gets each outage of a connection once: the reason why it cannot be made, at the start or after it was lost, and then that it is back. */
export type OutageListener = { on_error(error: unknown): void; on_recovered(): void }

/** A connection that died without a message is found by asking; the answer is due within the same time. */
const PING_SECONDS = 10

/**
 * Listens to the channels over one connection, which reconnects until `close`. Resolves once it listens. Throws the reason of `signal` when
 * that aborts before.
 */
export async function listen(options: ListenOptions): Promise<{ close(): Promise<void> }> {
  const { signal } = options
  signal?.throwIfAborted()
  const closed = new AbortController()
  const listening = Promise.withResolvers<void>()
  const ended = keepConnected(options, { closed: closed.signal, onListening: listening.resolve })
  const close = async () => {
    closed.abort()
    await ended
  }
  const onAbort = () => listening.reject(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    await listening.promise
  } catch (error) {
    await close()
    throw error
  } finally {
    signal?.removeEventListener('abort', onAbort)
  }
  return { close }
}

async function keepConnected(
  options: ListenOptions,
  { closed, onListening }: { closed: AbortSignal; onListening: () => void },
): Promise<void> {
  const outage = watchOutage(options)
  let pause = 50
  for (let first = true; !closed.aborted; ) {
    try {
      const client = await connect(options)
      outage.ended()
      if (first) onListening()
      else options.onReconnect()
      first = false
      pause = 50
      await untilLost(client, closed)
    } catch (error) {
      if (!closed.aborted) outage.failed(error)
      pause = Math.min(pause * 2, 5000)
    }
    await sleep(pause, undefined, { signal: closed }).catch(() => {})
  }
}

/** Of the attempts to connect: the first that fails begins an outage, the next that succeeds ends it. */
export function watchOutage({ on_error, on_recovered }: Partial<OutageListener>): {
  failed(error: unknown): void
  ended(): void
} {
  let out = false
  return {
    failed(error) {
      if (!out) on_error?.(error)
      out = true
    },
    ended() {
      if (out) on_recovered?.()
      out = false
    },
  }
}

async function connect({ url, channels, onConnect, onPayload }: ListenOptions): Promise<pg.Client> {
  const client = newClient({
    ...databaseClientOptions(url),
    application_name: 'kinora listen',
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    query_timeout: PING_SECONDS * 1000,
  })
  client.on('error', () => {})
  client.on('notification', ({ channel, payload }) => onPayload(payload ?? '', channel))
  try {
    await client.connect()
    requireWritable([await client.query('show transaction_read_only')])
    await requireOwnSession(client, url)
    await onConnect?.(client)
    for (const channel of channels) await client.query(`listen ${pg.escapeIdentifier(channel)}`)
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
  return client
}

/** Throws `SESSIONS_SHARED`, by comparing with a second connection. */
export async function requireOwnSession(client: pg.ClientBase, url: string): Promise<void> {
  const second = newClient({ ...databaseClientOptions(url), connectionTimeoutMillis: 10_000, query_timeout: 10_000 })
  second.on('error', () => {})
  try {
    await second.connect()
    await requireOwnSessions(
      (text) => client.query(text),
      (text) => second.query(text),
    )
  } finally {
    await second.end().catch(() => {})
  }
}

/**
 * Resolves once the connection has ended, without a message too, has another session than it began with, or `closed` aborts; the connection
 * is closed then.
 */
export async function untilLost(client: pg.Client, closed: AbortSignal): Promise<void> {
  const lost = new AbortController()
  client.once('end', () => lost.abort())
  const over = AbortSignal.any([closed, lost.signal])
  try {
    for (let session: number | undefined; !over.aborted; ) {
      const result = await client.query(
        "select pg_backend_pid() as pid, current_setting('transaction_read_only') as transaction_read_only",
      )
      requireWritable([result])
      const { pid } = result.rows[0]
      session ??= pid
      if (pid !== session) throw sessionsShared()
      await sleep(PING_SECONDS * 1000, undefined, { signal: over })
    }
  } catch {
  } finally {
    await client.end().catch(() => {})
  }
}
