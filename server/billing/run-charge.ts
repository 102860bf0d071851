import type { Tx } from '../platform/db.ts'
import type { Meter, UsageCharge } from './meter.ts'

/** The charge of one run of queued work: written with the end of the run, or never. */
export type RunCharge = {
  /** Stands in for the service's meter while the work runs: it admits as that does, and keeps what was used. */
  meter: Meter
  /** Writes what was used, if anything was asked of an engine. Call it in the transaction that ends the work. */
  write(tx: Tx): Promise<void>
  /** Call it after the commit: the balance has changed. */
  written(): void
}

/**
 * A run that is handed back or lost is the operator's cost, so its charge cannot be written before its end is. Each run has a charge,
 * and a ledger entry, of its own.
 */
export function openRunCharge(meter: Meter): RunCharge {
  let used: UsageCharge | null = null
  let announce: (() => void) | null = null
  return {
    meter: {
      ...meter,
      expect() {},
      async charge(usage) {
        used = usage
      },
    },
    async write(tx) {
      if (used) announce = await meter.chargeWithin(tx, used)
    },
    written() {
      announce?.()
    },
  }
}
