import { sql } from 'kysely'
import type pg from 'pg'
import { takingTurnsAs } from '../turns.ts'
import type { Db } from './db.ts'
import { listen, type OutageListener } from './listen-connection.ts'

/** Gets the id of what changed; null means that announcements may have been missed and everything is to be read again. */
export type ChangeListener = (id: string | null) => void

/**
 * Announcements of changed rows, to every process: for dropping what is kept in memory. Best effort: a cache of what is announced also
 * expires.
 */
export type Changes = {
  /** Reaches this process at once and the others within milliseconds. Call it after the commit. Listeners run without an owner (`takingTurnsAs`). */
  announce(topic: string, id: string): void
  /** Returns a function that stops listening. */
  on(topic: string, listener: ChangeListener): () => void
  /** Sends what is still waiting first. */
  close(): Promise<void>
}

const CHANNEL = 'kinora_changes'
/** Announcements within this time are sent together. */
const BATCH_MILLISECONDS = 20
/** The payload of a NOTIFY must be shorter than 8000 bytes. */
const IDS_PER_PAYLOAD = 100

/**
 * Opens the announcements of a database. `trigger_topics` are channels that triggers notify in their own transaction, with one id as the
 * payload: listeners get them under a topic of the same name.
 *
 * `announce` notifies outside of transactions on purpose: a NOTIFY inside one holds a lock of the whole server while its commit reaches
 * the disk.
 */
export async function openChanges(
  options: {
    db: Db
    url: string
    trigger_topics?: readonly string[]
    /** Called with each connection that listens, before it does. */
    onConnect?: ((client: pg.ClientBase) => Promise<void>) | undefined
    /** Ends the wait for a connection that listens. */
    signal?: AbortSignal | undefined
  } & Partial<OutageListener>,
): Promise<Changes> {
  const { db, url, trigger_topics = [], onConnect, on_error, on_recovered, signal } = options
  const listeners = new Map<string, Set<ChangeListener>>()
  const waiting = new Map<string, Set<string>>()
  const emit = (topic: string, id: string | null) => {
    for (const listener of listeners.get(topic) ?? []) listener(id)
  }
  const listening = await listen({
    url,
    channels: [CHANNEL, ...trigger_topics],
    onConnect,
    on_error,
    on_recovered,
    signal,
    onPayload(payload, channel) {
      if (channel !== CHANNEL) return emit(channel, payload)
      const [topic, ...ids] = payload.split(' ')
      for (const id of ids) emit(topic!, id)
    },
    onReconnect() {
      for (const topic of listeners.keys()) emit(topic, null)
    },
  })
  let sending: Promise<unknown> = Promise.resolve()
  // Hints need not survive a power cut: no flush is waited for. The setting ends with the statement.
  const send = () => {
    const payloads = [...waiting].flatMap(([topic, ids]) => payloadsOf(topic, [...ids]))
    waiting.clear()
    if (payloads.length === 0) return
    sending = sql`
      select set_config('synchronous_commit', 'off', true), (select count(pg_notify(${CHANNEL}, payload)) from unnest(${payloads}::text[]) as payload)`
      .execute(db)
      .catch(() => {})
  }
  return {
    announce(topic, id) {
      takingTurnsAs('', () => {
        emit(topic, id)
        if (waiting.size === 0) setTimeout(send, BATCH_MILLISECONDS).unref()
      })
      waiting.set(topic, (waiting.get(topic) ?? new Set()).add(id))
    },
    on(topic, listener) {
      const set = listeners.get(topic) ?? new Set()
      listeners.set(topic, set.add(listener))
      return () => set.delete(listener)
    },
    async close() {
      send()
      await sending
      await listening.close()
    },
  }
}

function payloadsOf(topic: string, ids: string[]): string[] {
  const payloads: string[] = []
  for (let i = 0; i < ids.length; i += IDS_PER_PAYLOAD)
    payloads.push([topic, ...ids.slice(i, i + IDS_PER_PAYLOAD)].join(' '))
  return payloads
}
