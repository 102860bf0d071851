import type { Meter, UsageCharge } from './meter.ts'

/** What one run of queued work used: charged with the end of the run, or never. */
export type RunCharge = {
  /** Stands in for the service's meter while the work runs: it admits as that does, and keeps what was used. */
  meter: Meter
  /** Null when nothing was asked of an engine. */
  used(): UsageCharge | null
}

/**
 * A run that is handed back or lost is the operator's cost, so its charge cannot be written before its end is. Each run has a charge,
 * and a ledger entry, of its own.
 */
export function openRunCharge(meter: Meter): RunCharge {
  let used: UsageCharge | null = null
  return {
    meter: {
      ...meter,
      expect() {},
      async charge(usage) {
        used = usage
      },
    },
    used: () => used,
  }
}
