import { type RawBuilder, sql } from 'kysely'

/**
 * The one source of calendar time. Durations inside a process use the monotonic clock instead. `follows_database`: it shows the
 * database's time, within half a round trip.
 */
export type Clock = { now(): Date; readonly follows_database?: true }

export const systemClock: Clock = { now: () => new Date() }

/**
 * The time of the statement that it is part of: exactly the database's, so that all nodes count alike, unless the clock is one that is
 * moved by hand.
 */
export function timeOfStatement(clock: Clock): RawBuilder<Date> {
  return clock.follows_database ? sql`now()` : sql`${clock.now()}::timestamptz`
}

/** Whole Unix seconds, as the wire wants them. */
export function unixSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000)
}

/** `date` moved by `seconds`, which may be negative. */
export function addSeconds(date: Date, seconds: number): Date {
  return new Date(date.getTime() + seconds * 1000)
}

/** A clock that only moves when it is advanced, for tests of retention and time limits. */
export function handMovedClock(
  start: Date = new Date(),
): Clock & { advance(seconds: number): void; set(date: Date): void } {
  let now = start
  return {
    now: () => new Date(now),
    advance: (seconds) => {
      now = addSeconds(now, seconds)
    },
    set: (date) => {
      now = date
    },
  }
}
