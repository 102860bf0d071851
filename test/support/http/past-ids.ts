import { newId } from '../../../server/platform/ids.ts'

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/**
 * Moves a clock past the time of every id of this process. Ids are monotonic within a process and begin with their time: after a test that has
 * moved its own clock ahead, they would begin with that time until this clock has come there.
 */
export function movePastIds(clock: { now(): Date; set(date: Date): void }): void {
  const newest = newId('video', new Date(0)).slice('video_'.length)
  const milliseconds = [...newest.slice(0, 10)].reduce((time, digit) => time * 32 + DIGITS.indexOf(digit), 0)
  if (milliseconds >= clock.now().getTime()) clock.set(new Date(milliseconds + 1000))
}
