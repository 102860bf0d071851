import type { Declared, MetricFamily, Metrics } from './metrics.ts'

/** Failures in a row of one thing. */
export type Streak = { worked(): void; failed(): void }

/** A failure says nothing of the present once it is this old: whoever is not called any more may work again. */
const STALE_MILLISECONDS = 180_000

/**
 * A gauge of how long something has failed each time: the seconds between the first and the last failure since it last worked. 0 while it
 * works, after a single failure, and when nothing has been tried for three minutes.
 */
export function streakGauge<Label extends string>(
  metrics: Metrics,
  declared: Declared<Label>,
  { now = () => performance.now() }: { now?: () => number } = {},
): Pick<MetricFamily<Streak, Label>, 'of'> {
  const gauge = metrics.gauge({ ...declared, merge: 'max' })
  const known = new Map<string, { streak: Streak; report(): void }>()
  metrics.beforeRead(() => {
    for (const { report } of known.values()) report()
  })
  return {
    of(...labels) {
      const key = labels.join('\0')
      const found = known.get(key) ?? openStreak(gauge.of(...labels), now)
      known.set(key, found)
      return found.streak
    },
  }
}

function openStreak(gauge: { set(value: number): void }, now: () => number) {
  let failures: { first: number; last: number } | null = null
  return {
    streak: {
      worked() {
        failures = null
      },
      failed() {
        failures = { first: failures?.first ?? now(), last: now() }
      },
    },
    report() {
      const isStale = failures !== null && now() - failures.last > STALE_MILLISECONDS
      if (isStale) failures = null
      gauge.set(failures === null ? 0 : (failures.last - failures.first) / 1000)
    },
  }
}
