import { asRecord, isRecord } from '../../../../platform/json/record.ts'
import { nextTurn, turnTaker } from '../../../../platform/turns.ts'
import { EngineError } from '../../../engine-error.ts'
import {
  check,
  errorOf,
  follow,
  isMuch,
  type Keywords,
  LIMITED,
  listOf,
  OPTION,
  OWN,
  sizeOf,
  spend,
  Unsatisfiable,
  weigh,
} from './check.ts'
import { type Given, type LeafWork, type Member, numberFor, patternOf, textFor } from './leaf.ts'
import { isQuick } from './pattern.ts'

/** `depth` counts members, items and branches. `variation` asks for another value than the lower numbers gave. */
type Place = Member & { path: string; depth: number }
type Work = LeafWork & {
  root: unknown
  references: Map<string, unknown>
  /** Of each `enum` the option that the prompt names. */
  named: Map<unknown, unknown>
  values: number
  steps: number
  problem: string
  turn: ReturnType<typeof turnTaker>
}

const VALUES_MAX = 2000
const STEPS_MAX = 20_000
const DEPTH_MAX = 100
const VARIATIONS = 8
/** Of the options of an `enum`, as far as they are looked for in the prompt. */
const NAMES_CHARACTERS = 4000
/** Beyond this depth, or these many values, optional members are left out and the branch that refers least is taken. */
const DEPTH_FULL = 4
const VALUES_FULL = 500

const UNSUPPORTED = /^(patternProperties|dependentSchemas|dependencies|unevaluated\w+|\$(dynamic|recursive)Ref)$/

/**
 * A JSON value that satisfies `schema`, with words and numbers of the prompt where they fit; the same input gives the same value. Made for
 * what strict mode knows, `allOf`, `oneOf` and `prefixItems`; the LIMITED keywords are only checked. Throws EngineError `rejected` for
 * another schema, or one without a small value; `subject` names it there.
 * Source: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 */
export async function valueFor(root: unknown, subject: string, given: Given): Promise<unknown> {
  const counts = { values: 0, steps: 0, effort: 0, problem: 'there is none that is small' }
  const work: Work = {
    ...given,
    ...counts,
    root,
    patterns: new Map(),
    weights: new Map(),
    references: new Map(),
    named: new Map(),
    turn: turnTaker(1),
  }
  try {
    for (let variation = 0; variation < VARIATIONS && work.values <= VALUES_MAX; variation++) {
      await nextTurn()
      Object.assign(work, { values: 0, steps: 0 })
      const value = await make(work, root, { name: '', path: '#', depth: 0, variation })
      if (value !== undefined) return value
    }
  } catch (error) {
    if (!(error instanceof Unsatisfiable)) throw error
    work.problem = error.message
  }
  const message = `Invalid schema for ${subject}: the sandbox finds no value for it: ${work.problem.slice(0, 300)}.`
  throw new EngineError('rejected', message, { public_message: message })
}

/** Undefined when there is no value. */
async function make(work: Work, schema: unknown, place: Place): Promise<unknown> {
  if (place.depth > DEPTH_MAX || ++work.values > VALUES_MAX) return undefined
  const other = work.turn()
  if (other) await other
  const parts = partsOf(work, schema, place)
  const choosing = parts.find((part) => part.anyOf ?? part.oneOf)
  const value = choosing ? await makeBranch(work, parts, choosing, place) : await makeOf(work, parts, place)
  for (const part of value === undefined ? [] : parts) {
    if (!isMet(work, part, value, place)) return undefined
    const other = work.turn()
    if (other) await other
  }
  return value
}

async function makeBranch(work: Work, parts: Keywords[], choosing: Keywords, place: Place): Promise<unknown> {
  const { [choosing.anyOf ? 'anyOf' : 'oneOf']: branches, ...rest } = choosing
  const others = parts.map((part) => (part === choosing ? rest : part))
  for (const branch of await orderBranches(work, listOf(branches), place)) {
    const value = await make(work, { allOf: [...others, branch] }, { ...place, depth: place.depth + 1 })
    if (value !== undefined && (choosing.anyOf || (await fitting(work, listOf(branches), value, place)) === 1))
      return value
  }
  return undefined
}

/** How many of the branches a value may be one of. */
async function fitting(work: Work, branches: readonly unknown[], value: unknown, place: Place): Promise<number> {
  let count = 0
  for (const branch of branches) {
    if (await mayBe(work, branch, value, place)) count++
  }
  return count
}

/** `null` last; where it is to be short, the branch with the fewest references first, so that recursion ends. */
async function orderBranches(work: Work, branches: readonly unknown[], place: Place): Promise<unknown[]> {
  const weighed = []
  for (const [i, branch] of branches.entries()) {
    const other = work.turn()
    if (other) await other
    const parts = partsOf(work, branch, place)
    spend(work, isShort(work, place) ? weigh(parts, OPTION) : 0)
    const weight = isShort(work, place)
      ? JSON.stringify(parts).split('"$ref"').length
      : Number(parts.some(({ type, const: value }) => type === 'null' || value === null))
    weighed.push({
      branch,
      weight,
      turn: (i + branches.length - (place.variation % branches.length)) % branches.length,
    })
  }
  return weighed.sort((a, b) => a.weight - b.weight || a.turn - b.turn).map(({ branch }) => branch)
}

function isShort({ values }: Work, { depth }: Place): boolean {
  return depth >= DEPTH_FULL || values > VALUES_FULL
}

async function makeOf(work: Work, parts: Keywords[], place: Place): Promise<unknown> {
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

/** An option the prompt names, else any. Never one whose members or items the schema constrains: they are not checked here. */
function pickOption(work: Work, keywords: Keywords, { variation }: Place): unknown {
  const isDeep = ['properties', 'additionalProperties', 'items', 'prefixItems'].some((name) =>
    Object.hasOwn(keywords, name),
  )
  const all = Object.hasOwn(keywords, 'const') ? [keywords.const] : listOf(keywords.enum)
  const options = isDeep ? all.filter((option) => typeof option !== 'object' || option === null) : all
  const at = Math.floor(work.random.between(0, options.length)) + variation
  const picked = (variation === 0 ? namedIn(work, options, all) : undefined) ?? options[at % options.length]
  // What is long is to be written as often as it is picked.
  spend(work, weigh(picked) * 8)
  return picked
}

function namedIn({ named, clues }: Work, options: readonly unknown[], all: readonly unknown[]): unknown {
  if (options.length < 2) return undefined
  if (named.has(all)) return named.get(all)
  let room = NAMES_CHARACTERS
  const found = options.find((option) => {
    if (typeof option !== 'string') return false
    room -= option.length
    return room >= 0 && clues.mentions(option)
  })
  named.set(all, found)
  return found
}

function guessType(keywords: Keywords): string {
  const names = Object.keys(keywords).join()
  if (/properties|required/i.test(names)) return 'object'
  return /items/i.test(names) ? 'array' : /imum|multipleOf/.test(names) ? 'number' : 'string'
}

async function objectOf(work: Work, keywords: Keywords, parts: Keywords[], place: Place): Promise<object | undefined> {
  const wanted = isShort(work, place) ? [] : parts.flatMap((part) => Object.keys(asRecord(part.properties) ?? {}))
  const required = new Set(listOf(keywords.required).map(String))
  const names = new Set([...wanted, ...required])
  const least = Math.min(sizeOf(keywords.minProperties), VALUES_FULL)
  for (let extra = 1; names.size < least; extra++) names.add(`extra_${extra}`)
  spend(work, names.size / 8)
  const members: Array<[string, unknown]> = []
  for (const name of names) {
    spend(work, name.length / 8)
    const allOf = parts.map((part) => memberSchema(part, name))
    const value = await make(work, { allOf }, below(place, name))
    if (value !== undefined) members.push([name, value])
    else if (required.has(name)) return undefined
  }
  return Object.fromEntries(members)
}

function memberSchema({ properties, additionalProperties }: Keywords, name: string): unknown {
  const named = asRecord(properties) ?? {}
  return Object.hasOwn(named, name) ? named[name] : (additionalProperties ?? true)
}

async function arrayOf(
  work: Work,
  keywords: Keywords,
  parts: Keywords[],
  place: Place,
): Promise<unknown[] | undefined> {
  const least = sizeOf(keywords.minItems)
  const wanted = isShort(work, place) ? 0 : Math.max(1, listOf(keywords.prefixItems).length)
  const count = Math.max(least, Math.min(wanted, sizeOf(keywords.maxItems, Infinity)))
  const items = new Map<string, unknown>()
  for (let i = 0; items.size < count && i < items.size + 12; i++) {
    const allOf = parts.map((part) => itemSchema(part, items.size))
    const item = await make(work, { allOf }, { ...below(place, place.name), variation: place.variation + i })
    if (item === undefined) break
    if (keywords.uniqueItems === true) spend(work, weigh(item))
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

/** The schema, what it refers to and its `allOf`: a value that satisfies the keywords of each of them satisfies it. */
function partsOf(
  work: Work,
  schema: unknown,
  place: Place,
  from = { depth: place.depth, effort: work.effort },
): Keywords[] {
  if (!isRecord(schema)) return [schema === false ? { enum: [] } : {}]
  if (++work.steps > STEPS_MAX || from.depth > DEPTH_MAX + 50 || isMuch(work, from))
    throw new Unsatisfiable(`${place.path} refers too far`)
  const { $ref, allOf, ...own } = schema
  spend(work, 1 + Object.keys(own).length + (typeof $ref === 'string' ? $ref.length / 64 : 0))
  const isPlain = (part: unknown) => Object.keys(asRecord(part) ?? {}).every((keyword) => OWN.test(keyword))
  const isUnsupported = (name: string) => UNSUPPORTED.test(name) || (LIMITED.test(name) && !isPlain(own[name]))
  const unsupported = Object.keys(own).find(isUnsupported)
  if (unsupported !== undefined) throw new Unsatisfiable(`'${unsupported}' at ${place.path} is not supported`)
  const further = [...(typeof $ref === 'string' ? [reached(work, $ref)] : []), ...listOf(allOf)]
  const parts = Object.keys(own).length > 0 || further.length === 0 ? [own] : []
  return [...parts, ...further.flatMap((part) => partsOf(work, part, place, { ...from, depth: from.depth + 1 }))]
}

/** Whether a value whose members and items are right is right itself. A pattern is run only where that is quick. */
function isMet(work: Work, part: Keywords, value: unknown, { path }: Place): boolean {
  const pattern =
    typeof value === 'string' && typeof part.pattern === 'string' ? patternOf(work, part.pattern) : undefined
  if (pattern === null || (pattern && !isQuick(pattern, String(value), (steps) => spend(work, steps / 10))))
    throw new Unsatisfiable(`'pattern' at ${path} is not supported`)
  const own = pattern ? { ...part, pattern: pattern.regexp } : part
  if (check(work, own, value)) return true
  work.problem = `'${errorOf(work, own, value)}' at ${path} is not satisfied`
  return false
}

/** False where it is certain that the value does not satisfy the schema. */
async function mayBe(work: Work, schema: unknown, value: unknown, place: Place): Promise<boolean> {
  for (const part of partsOf(work, schema, place)) {
    const other = work.turn()
    if (other) await other
    if (!check(work, part, value)) return false
    for (const [name, member] of Object.entries(asRecord(value) ?? {}))
      if (!(await mayBe(work, memberSchema(part, name), member, place))) return false
  }
  return true
}

function reached(work: Work, reference: string): unknown {
  if (!work.references.has(reference)) work.references.set(reference, follow(work.root, reference))
  return work.references.get(reference)
}
