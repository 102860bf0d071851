import type { SeededRandom } from '../../../seeded-random.ts'
import type { Clues } from '../prompt.ts'
import { textsFor } from '../wording.ts'
import { check, type Effort, type Keywords, sizeOf, spend } from './check.ts'
import { type Pattern, readPattern, textMatching } from './pattern.ts'

export type Given = { clues: Clues; random: SeededRandom }
export type LeafWork = Given & Effort & { patterns: Map<string, Pattern | null> }
/** What a value is made for: the member that holds it, and how many other values were asked for before. */
export type Member = { name: string; variation: number }

const CHARACTERS_MAX = 4096
/** Of the name of a member, as far as it suggests a text. */
const NAME_CHARACTERS = 100

/** A text that the pattern of a member suggests, or its name, or its format. */
export function textFor(work: LeafWork, keywords: Keywords, { name, variation }: Member): string {
  const [least, most] = [Math.min(sizeOf(keywords.minLength), CHARACTERS_MAX), sizeOf(keywords.maxLength, Infinity)]
  const pattern = patternOf(work, keywords.pattern)
  for (const growth of pattern ? [2, 1, 0, 3, 5, 8, 13, 15, 21, 34, 55, 89, 144, 233] : []) {
    const pick = (count: number) => (Math.floor(work.random.between(0, count)) + variation) % count
    spend(work, 50)
    const text = textMatching(pattern!, growth, pick)
    if (text !== null && text.length >= least && text.length <= most) return text
  }
  spend(work, least / 32)
  const [likely, ...others] = textsFor(name.slice(0, NAME_CHARACTERS), work.clues, work.random, variation)
  const fitted = [...likely!, ...' sandbox'.repeat(least / 8 + 1)].slice(0, Math.max(least, [...likely!].length))
  return [fitted.slice(0, most).join(''), ...others].find((text) => check(work, keywords, text)) ?? likely!
}

/** A number of the prompt when it fits, else one between the bounds, a multiple of what it must be. */
export function numberFor(work: LeafWork, keywords: Keywords, { variation }: Member): number | undefined {
  const { clues, random } = work
  const least = Math.max(sizeOf(keywords.minimum, -Infinity), sizeOf(keywords.exclusiveMinimum, -Infinity))
  const most = Math.min(sizeOf(keywords.maximum, Infinity), sizeOf(keywords.exclusiveMaximum, Infinity))
  const step =
    sizeOf(keywords.multipleOf) || (keywords.type === 'integer' ? 1 : Math.min(0.5, (most - least) / 20)) || 1
  const from = Number.isFinite(least) ? least : Number.isFinite(most) ? most - 100 * step : step
  const to = Number.isFinite(most) ? most : from + 100 * step
  const first = Math.ceil(from / step)
  const count = Math.max(1, Math.min(1000, Math.floor(to / step) - first + 1))
  const start = Math.floor(random.between(0, count)) + variation
  const multiples = Array.from({ length: Math.min(count, 50) }, (_, i) => (first + ((start + i) % count)) * step)
  // Twelve digits: without the last ones, which binary fractions add.
  const candidates = [...multiples.map((value) => Number(value.toPrecision(12))), (from + to) / 2, from, to]
  const known = variation === 0 ? clues.numbers : []
  return [...known, ...candidates].find((value) => check(work, keywords, value))
}

/** The pattern, read once. Null for what is none, or none that is supported. */
export function patternOf({ patterns }: LeafWork, source: unknown): Pattern | null {
  if (typeof source !== 'string') return null
  if (!patterns.has(source)) patterns.set(source, readPattern(source))
  return patterns.get(source) ?? null
}
