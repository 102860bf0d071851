import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../db/db.ts'
import { type Claimed, type Claims, LEASE_SECONDS } from './claims.ts'

/** Renews the leases of a worker's rows until `signal` aborts, and reports each row whose claim was lost: another worker has it. */
export async function keepLeases<Row extends Claimed>(options: {
  db: Db
  claims: Claims<Row>
  held(): readonly Row[]
  on_lost(row: Row): void
  on_error(error: unknown): void
  signal: AbortSignal
}): Promise<void> {
  const { db, claims, held, on_lost, on_error, signal } = options
  const renew = async () => {
    const rows = held()
    const lost = await claims.renew(db, rows)
    for (const row of rows) if (lost.has(row.id)) on_lost(row)
  }
  for (;;) {
    await sleep((LEASE_SECONDS * 1000) / 4, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    // Not awaited: a renewal that is never answered must not block the next one.
    void renew().catch(on_error)
  }
}
