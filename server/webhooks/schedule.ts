import { addSeconds } from '../platform/clock.ts'

/** How long after each attempt that failed the next one is made; after the last the delivery is given up. */
const DELAYS_SECONDS = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]

/**
 * When a delivery is tried again after a failed attempt that `tries` others came before. A receiver may ask for more time, not for less.
 * Null when it is given up.
 */
export function nextTry(tries: number, retry_after_seconds: number | null, now: Date): Date | null {
  const delay = DELAYS_SECONDS[tries]
  if (delay === undefined) return null
  return addSeconds(now, Math.max(delay, retry_after_seconds ?? 0))
}
