import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../db/db.ts'
import { type Claimed, type Claims, LEASE_SECONDS, RENEWED_BELOW } from './claims.ts'

/** A row under a claim. `leased_until`, by this process's monotonic clock, is no later than the end of its lease in the database. */
export type Leased<Row extends Claimed> = { row: Row; leased_until: number }

/** How often it is checked whether leases are about to end: they end at most this long, and half a second, before others may claim the row. */
const CHECK_SECONDS = 0.5
const RENEW_EVERY = (LEASE_SECONDS / 4) * (1 / CHECK_SECONDS)

/** The end of a lease that was granted by a statement sent at `sent`, both by the monotonic clock: the database counts from later. */
export function leaseEnd(sent: number): number {
  return sent + LEASE_SECONDS * 1000
}

/**
 * Renews the leases of a consumer's rows until `signal` aborts. Reports each row whose claim was lost: another consumer has it, or its lease
 * is about to end because the database could not be reached, and another consumer may have it then.
 */
export async function keepLeases<Row extends Claimed>(options: {
  db: Db
  claims: Claims<Row>
  held(): ReadonlyArray<Leased<Row>>
  on_lost(row: Row): void
  on_error(error: unknown): void
  signal: AbortSignal
}): Promise<void> {
  const { db, claims, held, on_lost, on_error, signal } = options
  const renew = async () => {
    const sent = performance.now()
    const entries = held()
    const lost = await claims.renew(
      db,
      entries.map(({ row }) => row),
    )
    for (const entry of entries) {
      if (lost.has(entry.row.id)) on_lost(entry.row)
      // What is left of a lease that was not yet to be renewed.
      else entry.leased_until = Math.max(entry.leased_until, sent + LEASE_SECONDS * RENEWED_BELOW * 1000)
    }
  }
  for (let n = 1; ; n++) {
    await sleep(CHECK_SECONDS * 1000, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    const soon = performance.now() + CHECK_SECONDS * 1000
    for (const { row, leased_until } of held()) if (leased_until < soon) on_lost(row)
    // Not awaited: a renewal that is never answered must not block the next one.
    if (n % RENEW_EVERY === 0) void renew().catch(on_error)
  }
}
