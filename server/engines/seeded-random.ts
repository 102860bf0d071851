import { createHash } from 'node:crypto'

/** Numbers that look random and are the same for the same seed. */
export type SeededRandom = {
  /** From `min` up to `max`. */
  between(min: number, max: number): number
  pick<T>(options: readonly T[]): T
}

/** The source of every choice in a clip, so that one job always gives one clip. */
export function seededRandom(seed: string): SeededRandom {
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0)
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    between: (min, max) => min + (max - min) * next(),
    pick: (options) => options[Math.floor(next() * options.length)]!,
  }
}
