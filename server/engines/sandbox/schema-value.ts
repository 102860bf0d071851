import type { Chance } from '../storyboard/chance.ts'
import type { Clues } from './clues.ts'
import { satisfies } from './schema-check.ts'
import { arrayOf, objectOf } from './schema-containers.ts'
import { numberFor } from './schema-number.ts'
import { stringFor } from './schema-string.ts'
import { followReference, memberSchemas, namesOf, numberOf, type Schema, schemasOf, viewSchema } from './schema-view.ts'
import { DEPTH_FULL, IMPOSSIBLE, type Place, VALUES_FULL, type Work } from './schema-work.ts'

/**
 * A JSON value that satisfies `schema`, with words, places and numbers of the prompt where they fit. The same input gives the same
 * value. Its size and depth are bounded whatever the schema says; what cannot be satisfied within them gives a value that comes near.
 */
export function valueFor(schema: Schema, clues: Clues, chance: Chance): unknown {
  let nearest: unknown = null
  for (let variation = 0; variation < VARIATIONS; variation++) {
    const work = workOn(schema, clues, chance)
    const value = work.make(schema, { name: '', depth: 0, variation })
    if (value !== IMPOSSIBLE && satisfies(schema, schema, value)) return value
    if (value !== IMPOSSIBLE && nearest === null) nearest = value
    if (work.values > VALUES_MAX) break
  }
  return nearest
}

/** Values of one answer, and how deep they may lie within each other. */
const VALUES_MAX = 4000
const NESTING_MAX = 150

const VARIATIONS = 8

function workOn(root: Schema, clues: Clues, chance: Chance): Work {
  const work: Work = {
    root,
    clues,
    chance,
    values: 0,
    nesting: 0,
    checks: { steps: 50_000 },
    make(schema, place) {
      if (work.nesting >= NESTING_MAX || ++work.values > VALUES_MAX) return IMPOSSIBLE
      work.nesting++
      const value = make(work, schema, place)
      work.nesting--
      return value
    },
  }
  return work
}

function make(work: Work, schema: Schema, place: Place): unknown {
  const view = viewSchema(work.root, schema)
  if (view === null) return IMPOSSIBLE
  const { keywords } = view
  const [branches, ...others] = view.choices
  if (branches !== undefined) {
    const rest = others.map((anyOf) => ({ anyOf }))
    return makeBranch(work, schema, branches, (branch) => ({ allOf: [keywords, branch, ...rest] }), place)
  }
  if (Object.hasOwn(keywords, 'const')) return keywords.const
  if (Array.isArray(keywords.enum)) return pickOption(work, { ...keywords, enum: undefined }, keywords.enum, place)
  return makeTyped(work, keywords, place)
}

type Keywords = Readonly<Record<string, unknown>>

function makeBranch(
  work: Work,
  schema: Schema,
  branches: Schema[],
  join: (branch: Schema) => Schema,
  place: Place,
): unknown {
  let nearest: unknown = IMPOSSIBLE
  for (const branch of orderBranches(work, branches, place)) {
    const value = work.make(join(branch), place)
    if (value === IMPOSSIBLE) continue
    if (satisfies(work.root, schema, value, work.checks)) return value
    if (nearest === IMPOSSIBLE) nearest = value
  }
  return nearest
}

/** Nothing last; deep down the branch that ends soonest first, so that recursion ends. */
function orderBranches(work: Work, branches: Schema[], { depth, variation }: Place): Schema[] {
  if (depth >= DEPTH_FULL || work.values > VALUES_FULL) {
    const budget = { steps: 2000 }
    const heights = new Map(branches.map((branch) => [branch, heightOf(work.root, branch, new Set(), budget)]))
    return branches.toSorted((a, b) => heights.get(a)! - heights.get(b)!)
  }
  const some = branches.filter((branch) => !isNull(branch))
  const at = some.length === 0 ? 0 : variation % some.length
  return [...some.slice(at), ...some.slice(0, at), ...branches.filter(isNull)]
}

function isNull(schema: Schema): boolean {
  return typeof schema === 'object' && (schema.type === 'null' || schema.const === null)
}

/** Levels of the smallest value, roughly; infinite where a schema requires itself. */
function heightOf(root: Schema, schema: Schema, followed: Set<unknown>, budget: { steps: number }): number {
  if (typeof schema === 'boolean') return schema ? 0 : Infinity
  if (--budget.steps < 0 || followed.size > 50 || followed.has(schema.$ref)) return Infinity
  const height = (part: Schema) =>
    heightOf(root, part, schema.$ref === undefined ? followed : new Set(followed).add(schema.$ref), budget)
  if (Array.isArray(schema.enum) || Object.hasOwn(schema, 'const')) return 0
  const parts = [...schemasOf(schema.allOf)]
  const target = followReference(root, schema.$ref)
  if (target !== undefined) parts.push(target)
  const heights = parts.map(height)
  for (const branches of [schemasOf(schema.anyOf), schemasOf(schema.oneOf)])
    if (branches.length > 0) heights.push(Math.min(...branches.map(height)))
  const members = memberSchemas(schema.properties)
  const required = namesOf(schema.required).map((name) => members.get(name) ?? true)
  heights.push(...required.map((member) => 1 + height(member)))
  if ((numberOf(schema.minItems) ?? 0) > 0) heights.push(1 + height((schema.items as Schema) ?? true))
  return Math.max(0, ...heights)
}

/** An option the prompt names, else the one that chance or the variation points at. */
function pickOption(work: Work, others: Keywords, options: unknown[], { variation }: Place): unknown {
  const { enum: _, ...rest } = others
  const fitting = options.filter((option) => satisfies(work.root, rest, option, work.checks))
  if (fitting.length === 0) return IMPOSSIBLE
  const named = fitting.find((option) => typeof option === 'string' && work.clues.mentions(option))
  if (named !== undefined && variation === 0) return named
  return fitting[(Math.floor(work.chance.between(0, fitting.length)) + variation) % fitting.length]
}

function makeTyped(work: Work, keywords: Keywords, place: Place): unknown {
  const types = [keywords.type ?? guessType(keywords)].flat()
  const some = types.filter((type) => type !== 'null')
  for (const type of some.length > 0 && !(place.depth >= DEPTH_FULL && types.includes('null')) ? some : types) {
    const value = makeOfType(work, type, keywords, place)
    if (value !== IMPOSSIBLE && allowed(work, keywords, value)) return value
    const other = keywords.not === undefined ? IMPOSSIBLE : makeOtherThan(work, type, keywords, place)
    if (other !== IMPOSSIBLE) return other
  }
  return keywords.not === undefined || keywords.type !== undefined ? IMPOSSIBLE : makeOfAnyType(work, keywords, place)
}

function allowed(work: Work, { not }: Keywords, value: unknown): boolean {
  return not === undefined || !satisfies(work.root, not as Schema, value, work.checks)
}

function makeOtherThan(work: Work, type: unknown, keywords: Keywords, place: Place): unknown {
  for (let variation = place.variation + 1; variation < place.variation + VARIATIONS; variation++) {
    const value = makeOfType(work, type, keywords, { ...place, variation })
    if (value !== IMPOSSIBLE && allowed(work, keywords, value)) return value
  }
  return IMPOSSIBLE
}

function makeOfAnyType(work: Work, keywords: Keywords, place: Place): unknown {
  for (const type of ['string', 'integer', 'number', 'boolean', 'object', 'array', 'null']) {
    const value = makeOfType(work, type, keywords, place)
    if (value !== IMPOSSIBLE && allowed(work, keywords, value)) return value
  }
  return IMPOSSIBLE
}

function guessType(keywords: Keywords): string {
  const has = (...names: string[]) => names.some((name) => keywords[name] !== undefined)
  if (has('properties', 'required', 'additionalProperties', 'minProperties', 'patternProperties')) return 'object'
  if (has('items', 'prefixItems', 'minItems', 'contains')) return 'array'
  if (has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf')) return 'number'
  return 'string'
}

function makeOfType(work: Work, type: unknown, keywords: Keywords, place: Place): unknown {
  switch (type) {
    case 'object':
      return objectOf(work, keywords, place)
    case 'array':
      return arrayOf(work, keywords, place)
    case 'string':
      return stringFor(keywords, { ...place, clues: work.clues, chance: work.chance })
    case 'integer':
    case 'number':
      return (
        numberFor(keywords, { ...place, whole: type === 'integer', clues: work.clues, chance: work.chance }) ??
        IMPOSSIBLE
      )
    case 'boolean':
      return place.variation % 2 === 0
    case 'null':
      return null
    default:
      return IMPOSSIBLE
  }
}
