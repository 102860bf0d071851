import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { nextTurn } from '../../platform/turns.ts'
import { ChatEngineError } from '../chat.ts'
import type { Chance } from '../storyboard/chance.ts'
import { isQuick, type Pattern, readPattern, textMatching } from './pattern.ts'
import type { Clues } from './prompt.ts'
import { textsFor } from './wording.ts'

type Keywords = Readonly<Record<string, unknown>>
type Given = { clues: Clues; chance: Chance }
/** `depth` counts members, items and branches. `variation` asks for another value than the lower numbers gave. */
type Place = { name: string; path: string; depth: number; variation: number }
type Work = Given & {
  root: unknown
  patterns: Map<string, Pattern | null>
  values: number
  steps: number
  problem: string
}

const VALUES_MAX = 2000
const STEPS_MAX = 20_000
const DEPTH_MAX = 100
const CHARACTERS_MAX = 4096
const VARIATIONS = 8
/** Beyond this depth, or these many values, optional members are left out and the branch that refers least is taken. */
const DEPTH_FULL = 4
const VALUES_FULL = 500

/** Keywords about a value itself, not about its members and items: TypeBox checks these. */
const OWN =
  /^(title|description|type|const|enum|format|multipleOf|uniqueItems|required|dependentRequired|(m|exclusiveM)(in|ax)(imum|Length|Items|Properties|Contains)?)$/
/** TypeBox checks these too where their schema holds nothing but the former. */
const LIMITED = /^(not|if|then|else|contains|propertyNames)$/
const UNSUPPORTED = /^(patternProperties|dependentSchemas|dependencies|unevaluated\w+|\$(dynamic|recursive)Ref)$/

class Unsatisfiable extends Error {}

/**
 * A JSON value that satisfies `schema`, with words and numbers of the prompt where they fit; the same input gives the same value. Made for
 * what strict mode knows, `allOf`, `oneOf` and `prefixItems`; the LIMITED keywords are only checked. Throws ChatEngineError `rejected` for
 * another schema, or one without a small value; `subject` names it there.
 * Source: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 */
export async function valueFor(root: unknown, subject: string, given: Given): Promise<unknown> {
  const counts = { values: 0, steps: 0, problem: 'there is none that is small' }
  const work: Work = { ...given, ...counts, root, patterns: new Map() }
  try {
    for (let variation = 0; variation < VARIATIONS && work.values <= VALUES_MAX; variation++) {
      await nextTurn()
      Object.assign(work, { values: 0, steps: 0 })
      const value = make(work, root, { name: '', path: '#', depth: 0, variation })
      if (value !== undefined) return value
    }
  } catch (error) {
    if (!(error instanceof Unsatisfiable)) throw error
    work.problem = error.message
  }
  const message = `Invalid schema for ${subject}: the sandbox finds no value for it: ${work.problem.slice(0, 300)}.`
  throw new ChatEngineError('rejected', message, { public_message: message })
}

/** Undefined when there is no value. */
function make(work: Work, schema: unknown, place: Place): unknown {
  if (place.depth > DEPTH_MAX || ++work.values > VALUES_MAX) return undefined
  const parts = partsOf(work, schema, place)
  const choosing = parts.find((part) => part.anyOf ?? part.oneOf)
  const value = choosing ? makeBranch(work, parts, choosing, place) : makeOf(work, parts, place)
  return value !== undefined && parts.every((part) => isMet(work, part, value, place)) ? value : undefined
}

function makeBranch(work: Work, parts: Keywords[], choosing: Keywords, place: Place): unknown {
  const { [choosing.anyOf ? 'anyOf' : 'oneOf']: branches, ...rest } = choosing
  const others = parts.map((part) => (part === choosing ? rest : part))
  for (const branch of orderBranches(work, listOf(branches), place)) {
    const value = make(work, { allOf: [...others, branch] }, { ...place, depth: place.depth + 1 })
    const isOne = () => listOf(branches).filter((branch) => mayBe(work, branch, value, place)).length === 1
    if (value !== undefined && (choosing.anyOf || isOne())) return value
  }
  return undefined
}

/** `null` last; where it is to be short, the branch with the fewest references first, so that recursion ends. */
function orderBranches(work: Work, branches: readonly unknown[], place: Place): unknown[] {
  const weighed = branches.map((branch, i) => {
    const parts = partsOf(work, branch, place)
    const weight = isShort(work, place)
      ? JSON.stringify(parts).split('"$ref"').length
      : Number(parts.some(({ type, const: value }) => type === 'null' || value === null))
    return { branch, weight, turn: (i + branches.length - (place.variation % branches.length)) % branches.length }
  })
  return weighed.sort((a, b) => a.weight - b.weight || a.turn - b.turn).map(({ branch }) => branch)
}

function isShort({ values }: Work, { depth }: Place): boolean {
  return depth >= DEPTH_FULL || values > VALUES_FULL
}

function makeOf(work: Work, parts: Keywords[], place: Place): unknown {
  const required = parts.flatMap((part) => listOf(part.required))
  // Of a keyword that parts set differently the first is taken; checking finds where that fails.
  const keywords: Keywords = { ...Object.assign({}, ...parts.toReversed()), ...(required.length > 0 && { required }) }
  if (Object.hasOwn(keywords, 'const') || Array.isArray(keywords.enum)) return pickOption(work, keywords, place)
  const types = [keywords.type ?? guessType(keywords)].flat()
  const some = isShort(work, place) && types.includes('null') ? [] : types.filter((type) => type !== 'null')
  const type = some[place.variation % some.length] ?? types[0]
  if (type === 'object') return objectOf(work, keywords, parts, place)
  if (type === 'array') return arrayOf(work, keywords, parts, place)
  if (type === 'string') return textFor(work, keywords, place)
  if (type === 'integer' || type === 'number') return numberFor(work, keywords, place)
  return type === 'boolean' ? place.variation % 2 === 0 : types.includes('null') ? null : undefined
}

/** An option the prompt names, else any. None with members or items that the schema says something about: they are not looked into. */
function pickOption({ clues, chance }: Work, keywords: Keywords, { variation }: Place): unknown {
  const isDeep = ['properties', 'additionalProperties', 'items', 'prefixItems'].some((name) =>
    Object.hasOwn(keywords, name),
  )
  const all = Object.hasOwn(keywords, 'const') ? [keywords.const] : listOf(keywords.enum)
  const options = isDeep ? all.filter((option) => typeof option !== 'object' || option === null) : all
  const isNamed = (option: unknown) => typeof option === 'string' && clues.mentions(option)
  const at = Math.floor(chance.between(0, options.length)) + variation
  return (variation === 0 ? options.find(isNamed) : undefined) ?? options[at % options.length]
}

function guessType(keywords: Keywords): string {
  const names = Object.keys(keywords).join()
  if (/properties|required/i.test(names)) return 'object'
  return /items/i.test(names) ? 'array' : /imum|multipleOf/.test(names) ? 'number' : 'string'
}

function objectOf(work: Work, keywords: Keywords, parts: Keywords[], place: Place): object | undefined {
  const wanted = isShort(work, place) ? [] : parts.flatMap((part) => Object.keys(recordOf(part.properties)))
  const required = new Set(listOf(keywords.required).map(String))
  const names = new Set([...wanted, ...required])
  const least = Math.min(sizeOf(keywords.minProperties), VALUES_FULL)
  for (let extra = 1; names.size < least; extra++) names.add(`extra_${extra}`)
  const members: Array<[string, unknown]> = []
  for (const name of names) {
    const allOf = parts.map((part) => memberSchema(part, name))
    const value = make(work, { allOf }, below(place, name))
    if (value !== undefined) members.push([name, value])
    else if (required.has(name)) return undefined
  }
  return Object.fromEntries(members)
}

function memberSchema({ properties, additionalProperties }: Keywords, name: string): unknown {
  return Object.hasOwn(recordOf(properties), name) ? recordOf(properties)[name] : (additionalProperties ?? true)
}

function arrayOf(work: Work, keywords: Keywords, parts: Keywords[], place: Place): unknown[] | undefined {
  const least = sizeOf(keywords.minItems)
  const wanted = isShort(work, place) ? 0 : Math.max(1, listOf(keywords.prefixItems).length)
  const count = Math.max(least, Math.min(wanted, sizeOf(keywords.maxItems, Infinity)))
  const items = new Map<string, unknown>()
  for (let i = 0; items.size < count && i < items.size + 12; i++) {
    const allOf = parts.map((part) => itemSchema(part, items.size))
    const item = make(work, { allOf }, { ...below(place, place.name), variation: place.variation + i })
    if (item === undefined) break
    items.set(keywords.uniqueItems === true ? JSON.stringify(item) : String(i), item)
  }
  return items.size < least ? undefined : [...items.values()]
}

function itemSchema({ prefixItems, items, additionalItems }: Keywords, index: number): unknown {
  const rest = Array.isArray(items) ? additionalItems : items
  return listOf(prefixItems ?? items)[index] ?? rest ?? true
}

function below({ path, depth, variation }: Place, name: string): Place {
  return { name, path: `${path}/${name}`, depth: depth + 1, variation }
}

/** A text that the pattern of a member suggests, or its name, or its format. */
function textFor(work: Work, keywords: Keywords, { name, variation }: Place): string {
  const [least, most] = [Math.min(sizeOf(keywords.minLength), CHARACTERS_MAX), sizeOf(keywords.maxLength, Infinity)]
  const pattern = patternOf(work, keywords.pattern)
  for (const growth of pattern ? [2, 1, 0, 3, 5, 8, 13, 15, 21, 34, 55, 89, 144, 233] : []) {
    const pick = (count: number) => (Math.floor(work.chance.between(0, count)) + variation) % count
    const text = textMatching(pattern!, growth, pick)
    if (text !== null && text.length >= least && text.length <= most) return text
  }
  const [likely, ...others] = textsFor(name, work.clues, work.chance, variation)
  const fitted = [...likely!, ...' sandbox'.repeat(least / 8 + 1)].slice(0, Math.max(least, [...likely!].length))
  return [fitted.slice(0, most).join(''), ...others].find((text) => Value.Check(ownOf(keywords), text)) ?? likely!
}

/** A number of the prompt when it fits, else one between the bounds, a multiple of what it must be. */
function numberFor({ clues, chance }: Work, keywords: Keywords, { variation }: Place): number | undefined {
  const least = Math.max(sizeOf(keywords.minimum, -Infinity), sizeOf(keywords.exclusiveMinimum, -Infinity))
  const most = Math.min(sizeOf(keywords.maximum, Infinity), sizeOf(keywords.exclusiveMaximum, Infinity))
  const step =
    sizeOf(keywords.multipleOf) || (keywords.type === 'integer' ? 1 : Math.min(0.5, (most - least) / 20)) || 1
  const from = Number.isFinite(least) ? least : Number.isFinite(most) ? most - 100 * step : step
  const to = Number.isFinite(most) ? most : from + 100 * step
  const first = Math.ceil(from / step)
  const count = Math.max(1, Math.min(1000, Math.floor(to / step) - first + 1))
  const start = Math.floor(chance.between(0, count)) + variation
  const multiples = Array.from({ length: Math.min(count, 50) }, (_, i) => (first + ((start + i) % count)) * step)
  // Twelve digits: without the last ones, which binary fractions add.
  const candidates = [...multiples.map((value) => Number(value.toPrecision(12))), (from + to) / 2, from, to]
  const known = variation === 0 ? clues.numbers : []
  return [...known, ...candidates].find((value) => Value.Check(ownOf(keywords), value))
}

/** The schema, what it refers to and its `allOf`: a value that satisfies the keywords of each of them satisfies it. */
function partsOf(work: Work, schema: unknown, place: Place, depth = place.depth): Keywords[] {
  if (!isRecord(schema)) return [schema === false ? { enum: [] } : {}]
  if (++work.steps > STEPS_MAX || depth > DEPTH_MAX + 50) throw new Unsatisfiable(`${place.path} refers too far`)
  const { $ref, allOf, ...own } = schema
  const isPlain = (part: unknown) => Object.keys(recordOf(part)).every((keyword) => OWN.test(keyword))
  const isUnsupported = (name: string) => UNSUPPORTED.test(name) || (LIMITED.test(name) && !isPlain(own[name]))
  const unsupported = Object.keys(own).find(isUnsupported)
  if (unsupported !== undefined) throw new Unsatisfiable(`'${unsupported}' at ${place.path} is not supported`)
  const further = [...(typeof $ref === 'string' ? [follow(work.root, $ref)] : []), ...listOf(allOf)]
  const parts = Object.keys(own).length > 0 || further.length === 0 ? [own] : []
  return [...parts, ...further.flatMap((part) => partsOf(work, part, place, depth + 1))]
}

/** The schema a `$ref` leads to: `#`, or a JSON pointer within the document. */
function follow(root: unknown, reference: string): unknown {
  let at = /^#(\/|$)/.test(reference) ? root : undefined
  for (const part of reference.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    at = typeof at === 'object' && at !== null && Object.hasOwn(at, name) ? (at as Keywords)[name] : undefined
  }
  if (typeof at !== 'boolean' && !isRecord(at)) throw new Unsatisfiable(`the reference '${reference}' leads nowhere`)
  return at
}

/** Whether a value whose members and items are right is right itself. A pattern is run only where that is quick. */
function isMet(work: Work, part: Keywords, value: unknown, { path }: Place): boolean {
  const pattern =
    typeof value === 'string' && typeof part.pattern === 'string' ? patternOf(work, part.pattern) : undefined
  if (pattern === null || (pattern && !isQuick(pattern, String(value))))
    throw new Unsatisfiable(`'pattern' at ${path} is not supported`)
  const own = pattern ? { ...ownOf(part), pattern: pattern.regexp } : ownOf(part)
  if (Value.Check(own, bare(value))) return true
  work.problem = `'${Value.Errors(own, bare(value))[0]?.keyword}' at ${path} is not satisfied`
  return false
}

/** False where it is certain that the value does not satisfy the schema. */
function mayBe(work: Work, schema: unknown, value: unknown, place: Place): boolean {
  return partsOf(work, schema, place).every((part) => {
    const isMember = ([name, member]: [string, unknown]) => mayBe(work, memberSchema(part, name), member, place)
    return Value.Check(ownOf(part), bare(value)) && Object.entries(recordOf(value)).every(isMember)
  })
}

function ownOf(keywords: Keywords): TSchema {
  return Object.fromEntries(Object.entries(keywords).filter(([name]) => OWN.test(name) || LIMITED.test(name)))
}

/** TypeBox takes what every object inherits for its members. */
function bare(value: unknown): unknown {
  return isRecord(value) ? Object.assign(Object.create(null), value) : value
}

function patternOf({ patterns }: Work, source: unknown): Pattern | null {
  if (typeof source !== 'string') return null
  if (!patterns.has(source)) patterns.set(source, readPattern(source))
  return patterns.get(source) ?? null
}

function sizeOf(value: unknown, otherwise = 0): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : otherwise
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {}
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
