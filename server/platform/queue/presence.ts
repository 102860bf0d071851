import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Changes } from '../db/changes.ts'
import { answered, type Db, isDatabaseDown } from '../db/db.ts'
import { type Claimed, type Claims, LEASE_SECONDS } from './claims.ts'
import { RECLAIMED_TOPIC } from './consumer.ts'

/** How often each process looks for consumers that are gone. */
const LOOK_SECONDS = 0.5
/** A consumer without a connection for this long is dead. A shorter time would take the rows of one that is reconnecting. */
const MISSING_SECONDS = 0.5

/** A process that works on queues, as others see it: present while a connection of its own lasts, which a kill ends at once. */
export type Presence = {
  /** Begins the claims of its consumers. */
  consumer_id: string
  /** Announces the process over a connection that it keeps; call it again for each connection. */
  announce(client: pg.ClientBase): Promise<void>
  /** The process ends, and its rows are released. */
  leave(db: Db): Promise<void>
}

export function newPresence(): Presence {
  const consumer_id = randomUUID()
  return {
    consumer_id,
    async announce(client) {
      // Shared, so that it is not refused while the server still keeps the connection before, and blocked only by a look, which is short.
      await client.query(`select pg_advisory_lock_shared(${KEY})`, [consumer_id])
      await client.query('insert into workers (id) values ($1) on conflict (id) do update set missing_since = null', [
        consumer_id,
      ])
    },
    async leave(db) {
      await sql`delete from workers where id = ${consumer_id}`.execute(db)
    },
  }
}

/** The lock of a consumer, whose id is the first parameter. */
const KEY = 'hashtextextended($1, 7301950146)'

export type WatchedQueue = { queue: string; claims: Claims<Claimed> }

/**
 * Releases the rows of consumers that died, within about a second of their death. What it cannot see, a machine that lost its power or its
 * network, is left to the leases. `on_released` is called with the number of rows of each consumer that had some.
 */
export function watchConsumers(options: {
  db: Db
  changes: Changes
  queues: readonly WatchedQueue[]
  on_released(count: number): void
  on_error(error: unknown): void
}): { stop(): Promise<void> } {
  const { db, changes, queues, on_released, on_error } = options
  const stopped = new AbortController()
  const watch = async () => {
    while (!stopped.signal.aborted) {
      try {
        for (const id of await answered(findAbsent(db), LEASE_SECONDS)) {
          const counts = await answered(releaseIfDead(db, id, queues), LEASE_SECONDS)
          const released = counts.reduce((sum, count) => sum + count, 0)
          // They may have been due for long.
          for (const [i, { queue }] of queues.entries()) if (counts[i]! > 0) changes.announce(RECLAIMED_TOPIC, queue)
          if (released > 0) on_released(released)
        }
      } catch (error) {
        if (!isDatabaseDown(error)) on_error(error)
      }
      await sleep(LOOK_SECONDS * 1000, undefined, { signal: stopped.signal, ref: false }).catch(() => {})
    }
  }
  const watching = watch()
  return {
    async stop() {
      stopped.abort()
      await watching
    },
  }
}

/** Consumers whose lock nobody holds. The locks taken to find out end with the statement. */
async function findAbsent(db: Db): Promise<string[]> {
  const result = await sql<{ id: string }>`
    select id from workers where pg_try_advisory_xact_lock(hashtextextended(id, 7301950146))`.execute(db)
  return result.rows.map(({ id }) => id)
}

/** Notes that a consumer is absent; releases its rows when it has been for a while. Returns how many, for each queue. */
export async function releaseIfDead(db: Db, id: string, queues: readonly WatchedQueue[]): Promise<number[]> {
  return db.transaction().execute(async (tx) => {
    // Held to the end: a consumer that reconnects announces itself after this.
    const look = sql<{
      absent: boolean
    }>`select pg_try_advisory_xact_lock(hashtextextended(${id}, 7301950146)) as absent`
    if (!(await look.execute(tx)).rows[0]!.absent) return []
    const noted = await sql<{ dead: boolean }>`
      update workers set missing_since = coalesce(missing_since, now()) where id = ${id}
      returning missing_since <= now() - ${MISSING_SECONDS} * interval '1 second' as dead`.execute(tx)
    if (!noted.rows[0]?.dead) return []
    const counts: number[] = []
    for (const { claims } of queues) counts.push(await claims.releaseOf(tx, id))
    await sql`delete from workers where id = ${id}`.execute(tx)
    return counts
  })
}
