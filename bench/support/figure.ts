/** One figure, measured in several rounds. `median` is the middle one, or the mean of the two in the middle. */
export type Figure = { median: number; min: number; max: number; rounds: number[] }

/** Throws without a round. */
export function figureOf(rounds: readonly number[]): Figure {
  if (rounds.length === 0) throw new Error('a figure needs a round')
  const sorted = [...rounds].sort((a, b) => a - b)
  return { median: median(sorted), min: sorted[0]!, max: sorted.at(-1)!, rounds: [...rounds] }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length / 2
  return (sorted[Math.floor(half)]! + sorted[Math.ceil(half) - 1]!) / 2
}
