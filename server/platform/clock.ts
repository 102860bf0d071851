/** The one source of calendar time. Durations inside a process use the monotonic clock instead. */
export type Clock = { now(): Date }

export const systemClock: Clock = { now: () => new Date() }

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
