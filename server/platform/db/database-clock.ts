import type pg from 'pg'
import type { Clock } from '../clock.ts'

/** The database's clock, read from this process without asking it each time. */
export type DatabaseClock = Clock & {
  follows_database: true
  /** Milliseconds by which a reading may differ from the database's clock: half the round trip of the measurement in use. */
  error_ms(): number
  /** Measures now. Throws what the question throws; the clock then goes on as it was. */
  measure(): Promise<void>
  close(): void
}

/** Pause between measurements. Between two of them the clock runs by the process's monotonic clock, which drifts by microseconds a second. */
const MEASURE_SECONDS = 10
/** Questions of one measurement, of which the one answered soonest counts. */
const QUESTIONS = 3
/** Smaller differences are made up for gradually, at most this part of the time that passes, so that time never goes back. */
const SLEW = 0.1
/** Larger ones are a clock that was set, or another server after a failover: they are adopted at once. */
const STEP_MILLISECONDS = 1000

/**
 * Follows the database's clock, so that all nodes agree on the time whatever their own clocks say. Resolves after the first measurement.
 * `ask` returns the database's time in milliseconds; `on_step` is called with the milliseconds of a step. Readings never go back but by
 * a step.
 */
export async function followDatabaseClock(options: {
  ask: () => Promise<number>
  on_step?: (milliseconds: number) => void
  monotonic_ms?: () => number
}): Promise<DatabaseClock> {
  const { ask, on_step = () => {}, monotonic_ms = () => performance.now() } = options
  const first = await measureOffset(ask, monotonic_ms)
  let current = { from: first.offset, to: first.offset, since: monotonic_ms(), error: first.error }

  const offsetAt = (time: number): number => {
    const moved = Math.max(0, time - current.since) * SLEW
    return current.from + Math.max(-moved, Math.min(moved, current.to - current.from))
  }

  const measure = async () => {
    const { offset, error } = await measureOffset(ask, monotonic_ms)
    const since = monotonic_ms()
    const now = offsetAt(since)
    // It allows the present reading and is less exact, as when this process was busy: nothing is learned from it.
    if (Math.abs(offset - current.to) <= error && error >= current.error) return
    const step = offset - now
    if (Math.abs(step) > STEP_MILLISECONDS) on_step(step)
    current = { from: Math.abs(step) > STEP_MILLISECONDS ? offset : now, to: offset, since, error }
  }

  const timer = setInterval(() => void measure().catch(() => {}), MEASURE_SECONDS * 1000).unref()
  return {
    follows_database: true,
    now() {
      const time = monotonic_ms()
      return new Date(time + offsetAt(time))
    },
    error_ms: () => current.error,
    measure,
    close: () => clearInterval(timer),
  }
}

/** The database's time now, for what needs it once. */
export async function databaseTime(pool: pg.Pool): Promise<Date> {
  return new Date(await askForTime(pool)())
}

/** The question for `followDatabaseClock`. */
export function askForTime(pool: pg.Pool): () => Promise<number> {
  return async () => {
    const { rows } = await pool.query<{ ms: number }>(
      'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
    )
    return rows[0]!.ms
  }
}

/** The answer was given at some moment between question and arrival: the middle is off by half of that time at most. */
async function measureOffset(
  ask: () => Promise<number>,
  monotonic_ms: () => number,
): Promise<{ offset: number; error: number }> {
  let best = { offset: 0, error: Number.POSITIVE_INFINITY }
  for (let i = 0; i < QUESTIONS; i++) {
    const asked = monotonic_ms()
    const time = await ask()
    const arrived = monotonic_ms()
    const error = (arrived - asked) / 2
    if (error < best.error) best = { offset: time - (asked + arrived) / 2, error }
  }
  return best
}
