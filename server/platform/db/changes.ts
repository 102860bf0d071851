import { sql } from 'kysely'
import type { Db } from './db.ts'
import { listen } from './notify.ts'

/** Hears the id of what changed; null means that changes may have been missed and everything is to be read again. */
export type ChangeListener = (id: string | null) => void

/** News of changed rows, to every process: for dropping what is kept in memory. Best effort: whoever keeps something also lets it age. */
export type Changes = {
  /** Tells this process at once and the others within milliseconds. Call it after the commit. */
  announce(topic: string, id: string): void
  /** Returns the way to stop listening. */
  on(topic: string, listener: ChangeListener): () => void
  /** Sends what is still waiting first. */
  close(): Promise<void>
}

const CHANNEL = 'kinora_changes'
/** Announcements within this time travel together. */
const BATCH_MILLISECONDS = 5
/** The payload of a NOTIFY must be shorter than 8000 bytes. */
const IDS_PER_PAYLOAD = 100

/** Outside of transactions on purpose: a NOTIFY inside one holds a lock of the whole server while its commit reaches the disk. */
export async function openChanges(options: { db: Db; url: string }): Promise<Changes> {
  const listeners = new Map<string, Set<ChangeListener>>()
  const waiting = new Map<string, Set<string>>()
  const tell = (topic: string, id: string | null) => {
    for (const listener of listeners.get(topic) ?? []) listener(id)
  }
  const listening = await listen(
    options.url,
    CHANNEL,
    (payload) => {
      const [topic, ...ids] = payload.split(' ')
      for (const id of ids) tell(topic!, id)
    },
    {
      onReconnect: () => {
        for (const topic of listeners.keys()) tell(topic, null)
      },
    },
  )
  let sending: Promise<unknown> = Promise.resolve()
  const send = () => {
    const payloads = [...waiting].flatMap(([topic, ids]) => payloadsOf(topic, [...ids]))
    waiting.clear()
    if (payloads.length === 0) return
    sending = sql`select pg_notify(${CHANNEL}, payload) from unnest(${payloads}::text[]) as payload`
      .execute(options.db)
      .catch(() => {})
  }
  return {
    announce(topic, id) {
      tell(topic, id)
      if (waiting.size === 0) setTimeout(send, BATCH_MILLISECONDS).unref()
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
