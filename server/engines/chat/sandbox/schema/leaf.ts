import type { SeededRandom } from '../../../seeded-random.ts'
import type { Clues } from '../prompt.ts'
import { check, type Effort, type Keywords, sizeOf, spendEffort, Unsatisfiable } from './check.ts'
import { type Pattern, readPattern, textMatching } from './pattern.ts'

/** What a value is made from: what the prompt mentions, and the choices that are left to chance. */
export type ValueSource = { clues: Clues; random: SeededRandom }
/** `patterns` are those read before: most are of many values. */
export type LeafWork = ValueSource & Effort & { patterns: Map<string, Pattern | null> }
/** What it is made for: a member, and how many other values were asked for before. `depth` counts members, items and branches. */
export type ValuePlace = { name: string; variation: number; path: string; depth: number }

const CHARACTERS_MAX = 4096
/** Of the name of a member, as far as it suggests a text. */
const NAME_CHARACTERS = 100

/** A text of the given pattern, else one that the name of the member suggests, else one of its format. */
export function textFor(work: LeafWork, keywords: Keywords, place: ValuePlace): string | undefined {
  const [least, most] = [Math.min(sizeOf(keywords.minLength), CHARACTERS_MAX), sizeOf(keywords.maxLength, Infinity)]
  if (typeof keywords.pattern === 'string') return patternText(work, keywords.pattern, place, { least, most })
  spendEffort(work, least / 32)
  const [likely, ...others] = textsFor(work, place)
  const fitted = [...likely!, ...' sandbox'.repeat(least / 8 + 1)].slice(0, Math.max(least, [...likely!].length))
  return [fitted.slice(0, most).join(''), ...others].find((text) => check(work, keywords, text)) ?? likely!
}

function patternText(
  work: LeafWork,
  source: string,
  { variation, path }: ValuePlace,
  { least, most }: { least: number; most: number },
): string | undefined {
  const pattern = work.patterns.get(source) ?? readPattern(source)
  work.patterns.set(source, pattern)
  if (pattern === null) throw new Unsatisfiable(`'pattern' at ${path} is not supported`)
  for (const growth of [2, 1, 0, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233]) {
    spendEffort(work, 50)
    const pick = (count: number) => (Math.floor(work.random.between(0, count)) + variation) % count
    const text = textMatching(pattern, growth, pick)
    if (text !== null && text.length >= least && text.length <= most) return text
  }
  return undefined
}

/** A number of the prompt when it fits, else one between the bounds, a multiple of what it must be. */
export function numberFor(work: LeafWork, keywords: Keywords, { variation }: ValuePlace): number | undefined {
  const { clues, random } = work
  const least = Math.max(sizeOf(keywords.minimum, -Infinity), sizeOf(keywords.exclusiveMinimum, -Infinity))
  const most = Math.min(sizeOf(keywords.maximum, Infinity), sizeOf(keywords.exclusiveMaximum, Infinity))
  const step =
    sizeOf(keywords.multipleOf) || (keywords.type === 'integer' ? 1 : Math.min(0.5, (most - least) / 20)) || 1
  const [from, to] = nearZero({ least, most, step })
  const first = Math.ceil(from / step)
  const count = Math.max(1, Math.min(1000, Math.floor(to / step) - first + 1))
  const start = Math.floor(random.between(0, Math.min(count, 100))) + variation
  const multiples = Array.from({ length: Math.min(count, 50) }, (_, i) => (first + ((start + i) % count)) * step)
  // Twelve digits: without the last ones, which binary fractions add.
  const bounds = [(from + to) / 2, from, to, least, most].filter(Number.isFinite)
  const candidates = [...multiples.map((value) => Number(value.toPrecision(12))), ...bounds]
  const known = variation === 0 ? clues.numbers : []
  return [...known, ...candidates].find((value) => check(work, keywords, value))
}

/**
 * The part of the range that is nearest to zero: clients make as many things as a number says. Schemas of Zod bound every integer by
 * 2⁵³ − 1 on both sides.
 */
function nearZero({ least, most, step }: { least: number; most: number; step: number }): [from: number, to: number] {
  if (most < step) return [Math.max(least, most - 100 * step), most]
  const from = least >= -100 * step ? least : step
  return [from, Math.min(most, from + 1000 * step)]
}

/** The text that the member's name suggests, then one of each format that TypeBox checks. Those of the prompt in the first variation only. */
function textsFor({ clues, random }: ValueSource, { name, variation }: ValuePlace): string[] {
  const number = 1 + variation + Math.floor(random.between(0, 90))
  const hex = Array.from({ length: 32 }, () => Math.floor(random.between(0, 16)).toString(16)).join('')
  const uuid = hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})/, '$1-$2-4$3-8$4-')
  const known: Partial<Clues> = variation === 0 ? clues : {}
  const email = known.email ?? `person${number}@example.com`
  const url = known.url ?? `https://example.com/${number}`
  const date = known.date ?? `2026-${String(1 + (number % 12)).padStart(2, '0')}-15`
  const time = `${10 + (number % 14)}:15:00Z`
  const words = name
    .slice(0, NAME_CHARACTERS)
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
  const likely: Array<[RegExp, string]> = [
    [/e.?mail/, email],
    [/(^|_)(ur[il]|link|website)s?$/, url],
    [/(^|_)(date|day|deadline|birthday)$/, date],
    [/location|city|place|address|destination|origin/, clues.place ?? (clues.japanese ? '東京' : 'Tokyo')],
    [/name|title|subject|label/, clues.excerpt(40)],
    [/query|search|question|prompt|text|message|input|content|task|summary|answer|^q$/, clues.excerpt(160)],
    [/(?:)/, `sandbox ${words.replaceAll('_', ' ')}`.trim()],
  ]
  const text = likely.find(([pattern, text]) => pattern.test(words) && text !== '')![1]
  return [
    variation === 0 || [email, url, date].includes(text) ? text : `${variation + 1} ${text}`,
    ...[email, url, date, `${date}T${time}`, time, `PT${number}M`, uuid, `/${number}`, String(number)],
    ...[`host-${number}.example.com`, `192.0.2.${number}`, `2001:db8::${number.toString(16)}`],
  ]
}
