import { withTimeout } from '../timeout.ts'
import type { Metrics } from './metrics.ts'

/** How long what was read is reported again: shorter than any usual interval of scrapes, so that several scrapers cost one reading. */
const FRESH_MILLISECONDS = 10_000
/** Longest a scrape waits for a reading. */
const LIMIT_MILLISECONDS = 2000

/**
 * Sets gauges from what `read` finds, before metrics are read. `unknown` is called when it fails or takes too long: the gauges are then to
 * be cleared, since an old number looks like a present one. One reading at a time.
 */
export function refreshGauges<T>(
  metrics: Metrics,
  { read, set, unknown }: { read: () => Promise<T>; set: (value: T) => void; unknown: () => void },
): void {
  let fresh_until = 0
  let reading: Promise<void> | null = null
  const refresh = async () => {
    try {
      set(await read())
      fresh_until = performance.now() + FRESH_MILLISECONDS
    } catch {
      unknown()
    } finally {
      reading = null
    }
  }
  metrics.beforeRead(async () => {
    if (performance.now() < fresh_until) return
    reading ??= refresh()
    await withTimeout(LIMIT_MILLISECONDS, reading, unknown)
  })
}
