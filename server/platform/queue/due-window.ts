import { addSeconds } from '../clock.ts'

/**
 * A claim reads rows that became due since the last claim, less this overlap for rows that were committed late. Without this bound each
 * claim would read the index entries of all rows that have ended since the oldest snapshot was taken: vacuum cannot remove those.
 */
const OVERLAP_SECONDS = 0.5
/** Rows due earlier (committed later, or by a process whose clock lags) are found by a full scan, made this often … */
const FULL_SCAN_SECONDS = 1
/** … or less often, where scans would take more than this share of the time … */
const FULL_SCAN_SHARE = 0.02
/** … but at least this often, however long the last one took. */
const FULL_SCAN_SECONDS_MAX = 10

/** Which rows the next claim of one consumer has to look at. */
export type DueWindow = {
  /** Begins a claim. Returns when the rows that it reads became due at the earliest; null for a full scan. */
  begin(): Date | null
  /** The claim has taken every row that was due at `until`. */
  succeeded(until: Date): void
  /** The claim may have taken nothing: what it would have read is read by the next one. */
  failed(): void
  /** Rows that were due for long may be free: the next claim is a full scan, also when one is under way. */
  reset(): void
}

export function openDueWindow(now_ms: () => number = () => performance.now()): DueWindow {
  let reached: Date | null = null
  let full_scan_at = 0
  let current: { started: number; full: boolean } = { started: 0, full: true }
  const finish = () => {
    if (!current.full || full_scan_at === 0) return
    const ended = now_ms()
    const pause_ms = Math.max(FULL_SCAN_SECONDS * 1000, (ended - current.started) / FULL_SCAN_SHARE)
    full_scan_at = ended + Math.min(pause_ms, FULL_SCAN_SECONDS_MAX * 1000)
  }
  return {
    begin() {
      const started = now_ms()
      current = { started, full: reached === null || started >= full_scan_at }
      // A reset from here on sets it back to 0.
      if (current.full) full_scan_at = Number.POSITIVE_INFINITY
      return current.full ? null : reached
    },
    succeeded(until) {
      finish()
      reached = addSeconds(until, -OVERLAP_SECONDS)
    },
    failed: finish,
    reset() {
      full_scan_at = 0
    },
  }
}
