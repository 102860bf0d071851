import { textMatching } from './pattern.ts'
import { satisfies } from './schema-check.ts'
import {
  canonical,
  isRecord,
  isSchema,
  memberSchemas,
  namesOf,
  numberOf,
  type Schema,
  schemasOf,
} from './schema-view.ts'
import { DEPTH_FULL, IMPOSSIBLE, type Place, VALUES_FULL, type Work } from './schema-work.ts'

type Keywords = Readonly<Record<string, unknown>>

/** Items of a list whose schema asks for more: what a client can still read. */
const ITEMS_MAX = 500

/** An object with what is required and, near the top, what is optional. */
export function objectOf(work: Work, keywords: Keywords, place: Place): Record<string, unknown> | typeof IMPOSSIBLE {
  const declared = memberSchemas(keywords.properties)
  const required = requiredNames(keywords, declared)
  const most = numberOf(keywords.maxProperties) ?? Infinity
  const least = numberOf(keywords.minProperties) ?? 0
  const isFull = place.depth < DEPTH_FULL && work.values < VALUES_FULL
  const members = new Map<string, unknown>()
  const names = [...declared.keys(), ...[...required].filter((name) => !declared.has(name))]
  let owed = required.size
  for (const name of names) {
    const isRequired = required.has(name)
    if (!isRequired && !(isFull || members.size + owed < least)) continue
    if (!isRequired && members.size + owed >= most) continue
    const value = work.make(declared.get(name) ?? undeclaredSchema(keywords, name), below(place, name))
    if (value !== IMPOSSIBLE) members.set(name, value)
    else if (isRequired) return IMPOSSIBLE
    if (isRequired) owed--
  }
  addUndeclared(work, keywords, members, Math.min(least, ITEMS_MAX), place)
  return Object.fromEntries(members)
}

/** A list of one item, or of as few as allowed; deep down of none where that is allowed. */
export function arrayOf(work: Work, keywords: Keywords, place: Place): unknown[] | typeof IMPOSSIBLE {
  const tuple = schemasOf(Array.isArray(keywords.prefixItems) ? keywords.prefixItems : keywords.items)
  const rest = Array.isArray(keywords.items) ? keywords.additionalItems : keywords.items
  const contains = isSchema(keywords.contains) ? keywords.contains : undefined
  const contained = contains === undefined ? 0 : (numberOf(keywords.minContains) ?? 1)
  const least = Math.max(numberOf(keywords.minItems) ?? 0, contained)
  const most = numberOf(keywords.maxItems) ?? Infinity
  const wanted = place.depth < DEPTH_FULL && work.values < VALUES_FULL ? Math.max(tuple.length, 1) : 0
  const count = Math.min(Math.max(least, Math.min(wanted, most)), ITEMS_MAX)
  const seen = keywords.uniqueItems === true ? new Set<string>() : null
  const items: unknown[] = []
  for (let index = 0; index < count; index++) {
    const own = tuple[index] ?? (isSchema(rest) ? rest : true)
    const schema = contains !== undefined && index < contained ? { allOf: [own, contains] } : own
    const item = makeItem(work, schema, { ...below(place, place.name), variation: place.variation + index }, seen)
    if (item === IMPOSSIBLE) return items.length >= least ? items : IMPOSSIBLE
    items.push(item)
  }
  return items
}

function makeItem(work: Work, schema: Schema, place: Place, seen: Set<string> | null): unknown {
  for (let more = 0; more < 12; more++) {
    const item = work.make(schema, { ...place, variation: place.variation + more })
    if (item === IMPOSSIBLE || seen === null) return item
    const key = canonical(item)
    if (!seen.has(key)) {
      seen.add(key)
      return item
    }
  }
  return IMPOSSIBLE
}

/** What is required, and what that requires in turn. */
function requiredNames(keywords: Keywords, declared: ReadonlyMap<string, Schema>): Set<string> {
  const required = new Set(namesOf(keywords.required))
  const needs = isRecord(keywords.dependentRequired) ? keywords.dependentRequired : {}
  for (const name of Object.keys(needs)) {
    if (declared.has(name)) for (const needed of namesOf(needs[name])) required.add(needed)
  }
  return required
}

/** Schema of a member that `properties` does not name. */
function undeclaredSchema({ patternProperties, additionalProperties }: Keywords, name: string): Schema {
  const [pattern] = memberSchemas(patternProperties).values()
  if (pattern !== undefined) return pattern
  if (isSchema(additionalProperties) && additionalProperties !== true) return additionalProperties
  return { type: name === '' ? 'integer' : 'string' }
}

function addUndeclared(
  work: Work,
  keywords: Keywords,
  members: Map<string, unknown>,
  least: number,
  place: Place,
): void {
  const [pattern] = memberSchemas(keywords.patternProperties).keys()
  const optional = pattern !== undefined && members.size === 0 && place.depth < DEPTH_FULL ? 1 : 0
  for (let extra = 0; extra < ITEMS_MAX && members.size < Math.max(least, optional); extra++) {
    const name = undeclaredName(work, keywords, pattern, extra)
    if (name === null || members.has(name)) continue
    const value = work.make(undeclaredSchema(keywords, name), below(place, name))
    if (value === IMPOSSIBLE) return
    members.set(name, value)
  }
}

function undeclaredName(work: Work, keywords: Keywords, pattern: string | undefined, extra: number): string | null {
  if (pattern !== undefined) return textMatching(pattern, 2 + (extra >> 4), (count) => pickAt(work, count, extra))
  const name = `extra_${extra + 1}`
  if (!isSchema(keywords.propertyNames)) return name
  if (satisfies(work.root, keywords.propertyNames, name) && !('pattern' in Object(keywords.propertyNames))) return name
  const made = work.make(
    { allOf: [{ type: 'string' }, keywords.propertyNames] },
    { name: '', depth: 0, variation: extra },
  )
  return typeof made === 'string' ? made : null
}

function pickAt(work: Work, count: number, extra: number): number {
  return (Math.floor(work.chance.between(0, count)) + extra) % count
}

function below(place: Place, name: string): Place {
  return { name, depth: place.depth + 1, variation: place.variation }
}
