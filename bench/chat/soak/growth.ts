import { median } from '../../support/figure.ts'

/**
 * By how much a value that is sampled regularly rose: the median of the last fifth minus that of the second. The first fifth, in which caches and
 * pools fill, does not count, and a single peak moves neither median. Throws without two samples.
 */
export function growthOf(samples: readonly number[]): number {
  if (samples.length < 2) throw new Error('growth needs two samples')
  const length = Math.max(1, Math.floor(samples.length / 5))
  const early = samples.length < 5 ? samples.slice(0, 1) : samples.slice(length, 2 * length)
  return median(samples.slice(-length)) - median(early)
}
