import type { Chance } from '../storyboard/chance.ts'
import type { Clues } from './clues.ts'
import { isMultiple } from './schema-check.ts'
import { numberOf } from './schema-view.ts'

type Wish = { name: string; variation: number; whole: boolean; clues: Clues; chance: Chance }

/** A number within the bounds: one of the prompt's when it fits, else one that its name suggests. Null when there is none. */
export function numberFor(keywords: Readonly<Record<string, unknown>>, wish: Wish): number | null {
  const fits = boundsOf(keywords, wish.whole)
  const { least, most, step } = fits
  const candidates = wish.variation === 0 ? [...wish.clues.numbers, ...usual(wish.name, wish.clues.year)] : []
  for (const candidate of candidates) if (isWithin(fits, candidate)) return candidate
  const from = Number.isFinite(least) ? least : Number.isFinite(most) ? most - 100 * step : step
  const to = Number.isFinite(most) ? most : from + 100 * step
  const first = Math.ceil(from / step)
  const count = Math.max(1, Math.min(1000, Math.floor(to / step) - first + 1))
  const start = Math.floor(wish.chance.between(0, count))
  for (let i = 0; i < Math.min(count, 50); i++) {
    const value = tidy((first + ((start + wish.variation + i) % count)) * step)
    if (isWithin(fits, value)) return value
  }
  for (const value of [from + (to - from) * (0.25 + 0.5 / (1 + wish.variation)), from, to])
    if (isWithin(fits, value)) return value
  return null
}

type Bounds = { least: number; most: number; above: number; under: number; step: number; isStepped: boolean }

function boundsOf(keywords: Readonly<Record<string, unknown>>, whole: boolean): Bounds {
  const minimum = numberOf(keywords.minimum) ?? -Infinity
  const maximum = numberOf(keywords.maximum) ?? Infinity
  const above = keywords.exclusiveMinimum === true ? minimum : (numberOf(keywords.exclusiveMinimum) ?? -Infinity)
  const under = keywords.exclusiveMaximum === true ? maximum : (numberOf(keywords.exclusiveMaximum) ?? Infinity)
  const multiple = numberOf(keywords.multipleOf)
  const isStepped = whole || (multiple !== undefined && multiple > 0)
  const least = Math.max(minimum, above)
  const most = Math.min(maximum, under)
  return { least, most, above, under, isStepped, step: stepOf(multiple, whole, most - least) }
}

function stepOf(multiple: number | undefined, whole: boolean, range: number): number {
  if (multiple === undefined || multiple <= 0)
    return whole ? 1 : range >= 10 ? 0.5 : Math.max(range / 20, Number.MIN_VALUE)
  if (!whole || Number.isInteger(multiple)) return multiple
  for (let times = 1; times <= 1000; times++)
    if (Number.isInteger(tidy(multiple * times))) return tidy(multiple * times)
  return multiple
}

function isWithin({ least, most, above, under, step, isStepped }: Bounds, value: number): boolean {
  return (
    Number.isFinite(value) &&
    value >= least &&
    value <= most &&
    value > above &&
    value < under &&
    (!isStepped || (isMultiple(value, step) && (step !== 1 || Number.isInteger(value))))
  )
}

/** Without the last digits that binary fractions add. */
function tidy(value: number): number {
  return Number.parseFloat(value.toPrecision(12))
}

function usual(name: string, year: number): number[] {
  if (/lat(itude)?$/i.test(name)) return [35.68]
  if (/(lon|lng|longitude)$/i.test(name)) return [139.77]
  if (/year/i.test(name)) return [year]
  if (/(page|offset|index)/i.test(name)) return [1]
  if (/(limit|count|size|max|top)/i.test(name)) return [10, 5]
  if (/(price|cost|amount|total)/i.test(name)) return [19.5, 20]
  if (/(age|days|hours|minutes|seconds|quantity)/i.test(name)) return [3]
  if (/(confidence|score|probability|ratio)/i.test(name)) return [0.75, 4]
  return []
}
