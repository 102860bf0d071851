import { asRecord, isRecord } from '../../../../platform/json/record.ts'
import { nextTurn, turnTaker } from '../../../../platform/turns.ts'
import { EngineError } from '../../../engine-error.ts'
import {
  check,
  errorOf,
  follow,
  type Keywords,
  LIMITED,
  listOf,
  OPTION,
  OWN,
  STEP_MAX,
  sizeOf,
  spendEffort,
  Unsatisfiable,
  weigh,
} from './check.ts'
import { type LeafWork, numberFor, textFor, type ValuePlace, type ValueSource } from './leaf.ts'

type Work = LeafWork & { root: unknown; values: number; problem: string; turn(): Promise<void> | undefined }

const VALUES_MAX = 2000
const DEPTH_MAX = 100
const VARIATIONS = 8
/** An option of an `enum` is looked for in the prompt where there are no more. */
const NAMED_MAX = 100
/** Beyond this depth, or these many values, optional members are left out and the branch that refers least is taken. */
const DEPTH_FULL = 4
const VALUES_FULL = 500
/** Of STEP_MAX, for each schema that a value must satisfy at once. */
const PART_EFFORT = 50

const UNSUPPORTED = /^(patternProperties|dependentSchemas|dependencies|unevaluated\w+|\$(dynamic|recursive)Ref)$/

/**
 * A JSON value that satisfies `schema`, with words and numbers of the prompt where they fit; the same input gives the same value. Made for
 * what strict mode knows, `allOf`, `oneOf` and `prefixItems`; the LIMITED keywords are only checked. Throws EngineError `rejected` for
 * another schema, or one without a small value; `subject` names it there. Rejects with the reason of `signal` once nobody
 * wants it any more.
 * Source: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 */
export async function valueFor(
  root: unknown,
  subject: string,
  { signal, ...given }: ValueSource & { signal?: AbortSignal | undefined },
): Promise<unknown> {
  const counts = { values: 0, effort: 0, problem: 'there is none that is small' }
  const work: Work = { ...given, ...counts, root, weights: new Map(), patterns: new Map(), turn: turnTaker(1, signal) }
  try {
    for (let variation = 0; variation < VARIATIONS && work.values <= VALUES_MAX; variation++) {
      await nextTurn(signal)
      work.values = 0
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
async function make(work: Work, schema: unknown, place: ValuePlace): Promise<unknown> {
  if (place.depth > DEPTH_MAX || ++work.values > VALUES_MAX) return undefined
  await work.turn()
  const parts = partsOf(work, schema, place)
  const choosing = parts.find((part) => part.anyOf ?? part.oneOf)
  const value = choosing ? await makeBranch(work, parts, choosing, place) : await makeOf(work, parts, place)
  for (const part of value === undefined ? [] : parts) {
    await work.turn()
    if (check(work, part, value)) continue
    work.problem = `'${errorOf(work, part, value)}' at ${place.path} is not satisfied`
    return undefined
  }
  return value
}

async function makeBranch(work: Work, parts: Keywords[], choosing: Keywords, place: ValuePlace): Promise<unknown> {
  const { [choosing.anyOf ? 'anyOf' : 'oneOf']: given, ...rest } = choosing
  const others = parts.map((part) => (part === choosing ? rest : part))
  const branches = listOf(given)
  for (const branch of await orderBranches(work, branches, place)) {
    const value = await make(work, { allOf: [...others, branch] }, { ...place, depth: place.depth + 1 })
    if (value === undefined) continue
    let fitting = 0
    for (const each of choosing.anyOf ? [] : branches) fitting += Number(await mayBe(work, each, value, place))
    if (fitting <= 1) return value
  }
  return undefined
}

/** `null` last; where it is to be short, the branch with the fewest references first, so that recursion ends. */
async function orderBranches(work: Work, branches: readonly unknown[], place: ValuePlace): Promise<unknown[]> {
  const weighed = []
  for (const [i, branch] of branches.entries()) {
    await work.turn()
    const parts = partsOf(work, branch, place)
    spendEffort(work, isShort(work, place) ? weigh(parts, OPTION) : 0)
    const weight = isShort(work, place)
      ? JSON.stringify(parts).split('"$ref"').length
      : Number(parts.some(({ type, const: only }) => type === 'null' || only === null))
    const turn = (i + branches.length - (place.variation % branches.length)) % branches.length
    weighed.push({ branch, weight, turn })
  }
  return weighed.sort((a, b) => a.weight - b.weight || a.turn - b.turn).map(({ branch }) => branch)
}

function isShort({ values }: Work, { depth }: ValuePlace): boolean {
  return depth >= DEPTH_FULL || values > VALUES_FULL
}

async function makeOf(work: Work, parts: Keywords[], place: ValuePlace): Promise<unknown> {
  const required = parts.flatMap((part) => listOf(part.required))
  // Of a keyword that parts set differently the first is taken; checking finds where that fails.
  const keywords: Keywords = { ...Object.assign({}, ...parts.toReversed()), ...(required.length > 0 && { required }) }
  const isChosen = Object.hasOwn(keywords, 'const') || Array.isArray(keywords.enum)
  // A pattern is written, never run: it would have to be run on a text of another origin.
  if (parts.some(({ pattern = keywords.pattern }) => pattern !== keywords.pattern) || (isChosen && keywords.pattern))
    throw new Unsatisfiable(`'pattern' at ${place.path} is not supported beside another or an enum`)
  if (isChosen) return pickOption(work, keywords, place)
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
function pickOption(work: Work, keywords: Keywords, { variation }: ValuePlace): unknown {
  const isDeep = ['properties', 'additionalProperties', 'items', 'prefixItems'].some((name) => keywords[name])
  const all = Object.hasOwn(keywords, 'const') ? [keywords.const] : listOf(keywords.enum)
  const options = isDeep ? all.filter((option) => typeof option !== 'object' || option === null) : all
  const at = Math.floor(work.random.between(0, options.length)) + variation
  const isNamed = (option: unknown) => typeof option === 'string' && work.clues.mentions(option)
  const named = variation === 0 && options.length <= NAMED_MAX ? options.find(isNamed) : undefined
  const picked = named ?? options[at % options.length]
  // What is long is to be written as often as it is picked.
  spendEffort(work, weigh(picked) * 8)
  return picked
}

function guessType(keywords: Keywords): string {
  const names = Object.keys(keywords).join()
  if (/properties|required/i.test(names)) return 'object'
  return /items/i.test(names) ? 'array' : /imum|multipleOf/.test(names) ? 'number' : 'string'
}

async function objectOf(
  work: Work,
  keywords: Keywords,
  parts: Keywords[],
  place: ValuePlace,
): Promise<object | undefined> {
  const wanted = isShort(work, place) ? [] : parts.flatMap((part) => Object.keys(asRecord(part.properties) ?? {}))
  const required = new Set(listOf(keywords.required).map(String))
  const names = new Set([...wanted, ...required])
  const least = Math.min(sizeOf(keywords.minProperties), VALUES_FULL)
  for (let extra = 1; names.size < least; extra++) names.add(`extra_${extra}`)
  const members: Array<[string, unknown]> = []
  for (const name of names) {
    spendEffort(work, 1 + name.length / 8)
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
  place: ValuePlace,
): Promise<unknown[] | undefined> {
  const least = sizeOf(keywords.minItems)
  const wanted = isShort(work, place) ? 0 : Math.max(1, listOf(keywords.prefixItems).length)
  const count = Math.max(least, Math.min(wanted, sizeOf(keywords.maxItems, Infinity)))
  const items = new Map<string, unknown>()
  for (let i = 0; items.size < count && i < items.size + 12; i++) {
    const allOf = parts.map((part) => itemSchema(part, items.size))
    const item = await make(work, { allOf }, { ...below(place, place.name), variation: place.variation + i })
    if (item === undefined) break
    if (keywords.uniqueItems === true) spendEffort(work, weigh(item))
    items.set(keywords.uniqueItems === true ? JSON.stringify(item) : String(i), item)
  }
  return items.size < least ? undefined : [...items.values()]
}

function itemSchema({ prefixItems, items, additionalItems }: Keywords, index: number): unknown {
  const rest = Array.isArray(items) ? additionalItems : items
  return listOf(prefixItems ?? items)[index] ?? rest ?? true
}

function below({ path, depth, variation }: ValuePlace, name: string): ValuePlace {
  return { name, path: `${path}/${name}`, depth: depth + 1, variation }
}

/** The schema, what it refers to and its `allOf`: a value that satisfies the keywords of each of them satisfies it. */
function partsOf(work: Work, schema: unknown, place: ValuePlace, room = { left: STEP_MAX }): Keywords[] {
  if (!isRecord(schema)) return [schema === false ? { enum: [] } : {}]
  const { $ref, allOf, ...own } = schema
  const size = 1 + Object.keys(own).length + (typeof $ref === 'string' ? $ref.length / 64 : 0)
  room.left -= PART_EFFORT + size
  if (room.left < 0) throw new Unsatisfiable(`${place.path} refers too far`)
  spendEffort(work, size)
  const isPlain = (part: unknown) => Object.keys(asRecord(part) ?? {}).every((keyword) => OWN.test(keyword))
  const unsupported = Object.keys(own).find(
    (name) => UNSUPPORTED.test(name) || (LIMITED.test(name) && !isPlain(own[name])),
  )
  if (unsupported !== undefined) throw new Unsatisfiable(`'${unsupported}' at ${place.path} is not supported`)
  const further = [...(typeof $ref === 'string' ? [follow(work.root, $ref)] : []), ...listOf(allOf)]
  const parts = Object.keys(own).length > 0 || further.length === 0 ? [own] : []
  return [...parts, ...further.flatMap((part) => partsOf(work, part, place, room))]
}

/** False where it is certain that the value does not satisfy the schema. */
async function mayBe(work: Work, schema: unknown, value: unknown, place: ValuePlace): Promise<boolean> {
  for (const part of partsOf(work, schema, place)) {
    await work.turn()
    if (!check(work, part, value)) return false
    for (const [name, member] of Object.entries(asRecord(value) ?? {}))
      if (!(await mayBe(work, memberSchema(part, name), member, place))) return false
  }
  return true
}
