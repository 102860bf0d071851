/** A JSON Schema as a client wrote it: nothing about it is certain. It is read, never compiled, and its patterns are never run. */
export type Schema = boolean | { readonly [keyword: string]: unknown }

/** One schema with its references followed and its `allOf` merged in. A value must also satisfy one branch of every choice. */
export type SchemaView = { keywords: Readonly<Record<string, unknown>>; choices: Schema[][] }

/** References followed for one view. */
const REFERENCES_MAX = 100

/** Null when nothing satisfies the schema. References that lead nowhere or back to themselves say nothing. */
export function viewSchema(root: Schema, schema: Schema): SchemaView | null {
  const view: SchemaView = { keywords: {}, choices: [] }
  return addTo(view, root, schema, new Set()) ? view : null
}

/** The schema a `$ref` within the document leads to: `#`, a JSON pointer, or the `$anchor` of a definition. */
export function followReference(root: Schema, reference: unknown): Schema | undefined {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined
  const path = reference.slice(1)
  if (path !== '' && !path.startsWith('/')) return anchored(root, path)
  let at: unknown = root
  for (const part of path.split('/').slice(1)) {
    const name = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~')
    at =
      typeof at === 'object' && at !== null && Object.hasOwn(at, name)
        ? (at as Record<string, unknown>)[name]
        : undefined
  }
  return isSchema(at) ? at : undefined
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'boolean' || isRecord(value)
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function schemasOf(value: unknown): Schema[] {
  return Array.isArray(value) ? value.filter(isSchema) : []
}

/** The schemas under `properties` and its like. */
export function memberSchemas(value: unknown): ReadonlyMap<string, Schema> {
  if (!isRecord(value)) return NO_MEMBERS
  let members = membersRead.get(value)
  if (members === undefined) {
    members = new Map(Object.entries(value).filter((member): member is [string, Schema] => isSchema(member[1])))
    membersRead.set(value, members)
  }
  return members
}

const NO_MEMBERS: ReadonlyMap<string, Schema> = new Map()
const membersRead = new WeakMap<object, ReadonlyMap<string, Schema>>()

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

export function namesOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
}

export function sameJson(a: unknown, b: unknown): boolean {
  return a === b || canonical(a) === canonical(b)
}

/** JSON text that is equal for equal values. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null'
  const names = Object.keys(value).sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`
}

function addTo(view: SchemaView, root: Schema, schema: Schema, followed: Set<string>): boolean {
  if (typeof schema === 'boolean') return schema
  const { $ref, allOf, anyOf, oneOf, if: condition, then, else: otherwise, ...rest } = schema
  if (typeof $ref === 'string' && !followed.has($ref) && followed.size < REFERENCES_MAX) {
    followed.add($ref)
    const target = followReference(root, $ref)
    if (target !== undefined && !addTo(view, root, target, followed)) return false
  }
  const merged = merge(view.keywords, rest)
  if (merged === null) return false
  view.keywords = merged
  for (const branches of [anyOf, oneOf]) if (Array.isArray(branches)) view.choices.push(schemasOf(branches))
  if (isSchema(condition) && (isSchema(then) || isSchema(otherwise))) {
    view.choices.push([
      { allOf: [condition, isSchema(then) ? then : true] },
      { allOf: [{ not: condition }, isSchema(otherwise) ? otherwise : true] },
    ])
  }
  return schemasOf(allOf).every((part) => addTo(view, root, part, followed))
}

type Keywords = Readonly<Record<string, unknown>>

/** What satisfies both; null when nothing can. */
function merge(a: Keywords, b: Keywords): Keywords | null {
  if (Object.keys(a).length === 0) return b
  if (Object.keys(b).length === 0) return a
  const merged: Record<string, unknown> = { ...b, ...a }
  for (const [keyword, other] of Object.entries(b)) {
    if (!Object.hasOwn(a, keyword)) continue
    const joined = join(keyword, a[keyword], other)
    if (joined === undefined) return null
    merged[keyword] = joined
  }
  if (isRecord(merged.properties)) merged.properties = commonMembers(a, b)
  return merged
}

function join(keyword: string, a: unknown, b: unknown): unknown {
  if (LARGER.has(keyword) && typeof a === 'number' && typeof b === 'number') return Math.max(a, b)
  if (SMALLER.has(keyword) && typeof a === 'number' && typeof b === 'number') return Math.min(a, b)
  switch (keyword) {
    case 'type':
      return commonTypes(a, b)
    case 'enum':
      return shared(Array.isArray(a) ? a : [], Array.isArray(b) ? b : [])
    case 'const':
      return sameJson(a, b) ? a : undefined
    case 'required':
      return [...new Set([...namesOf(a), ...namesOf(b)])]
    case 'multipleOf':
      return commonMultiple(numberOf(a) ?? 1, numberOf(b) ?? 1)
    case 'properties':
      return { ...(a as object), ...(b as object) }
    case 'uniqueItems':
      return a === true || b === true
    case 'not':
      return { anyOf: [a, b] }
    case 'items':
    case 'additionalProperties':
      return isSchema(a) && isSchema(b) ? (a === false || b === false ? false : { allOf: [a, b] }) : a
    default:
      return a ?? b ?? null
  }
}

const LARGER = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties', 'minContains'])
const SMALLER = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties', 'maxContains'])

/** Members that either side names, each as both sides want it. */
function commonMembers(a: Keywords, b: Keywords): Record<string, Schema> {
  const sides = [a, b].map((side) => ({ declared: memberSchemas(side.properties), others: undeclared(side) }))
  const names = new Set(sides.flatMap(({ declared }) => [...declared.keys()]))
  const members = [...names].map((name): [string, Schema] => {
    const parts = sides.map(({ declared, others }) => declared.get(name) ?? others).filter((part) => part !== true)
    return [name, parts.includes(false) ? false : parts.length === 1 ? parts[0]! : { allOf: parts }]
  })
  return Object.fromEntries(members)
}

function undeclared({ additionalProperties, patternProperties }: Keywords): Schema {
  return isSchema(additionalProperties) && patternProperties === undefined ? additionalProperties : true
}

function commonTypes(a: unknown, b: unknown): unknown {
  const left = [a].flat()
  const right = [b].flat()
  const common = left.filter((type) => right.includes(type) || (type === 'integer' && right.includes('number')))
  if (right.includes('integer') && left.includes('number') && !common.includes('integer')) {
    return [...common.filter((type) => type !== 'number'), 'integer']
  }
  return common.length === 0 ? undefined : common
}

function shared(a: unknown[], b: unknown[]): unknown[] | undefined {
  const known = new Set(b.map(canonical))
  const both = a.filter((value) => known.has(canonical(value)))
  return both.length === 0 ? undefined : both
}

function commonMultiple(a: number, b: number): number {
  if (!Number.isInteger(a) || !Number.isInteger(b) || a < 1 || b < 1) return Math.max(a, b)
  let [x, y] = [a, b]
  while (y !== 0) [x, y] = [y, x % y]
  return (a / x) * b
}

function anchored(root: Schema, name: string): Schema | undefined {
  if (typeof root === 'boolean') return undefined
  const definitions = [...memberSchemas(root.$defs).values(), ...memberSchemas(root.definitions).values()]
  return [root, ...definitions].find((schema) => typeof schema === 'object' && schema.$anchor === name)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
