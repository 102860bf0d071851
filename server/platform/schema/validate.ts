import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { ApiError } from '../errors.ts'
import { JSON_DEPTH_MAX } from '../json/scan.ts'
import { asSentence, hasUnstorableText, storableText } from '../text.ts'
import { turnTaker } from '../turns.ts'
import { explain, type JsonSchema, meantVariant } from './explain.ts'

/** `path`: the place of the value in the body, when it is checked separately. */
export type Shape<S extends TSchema> = (value: unknown, path?: string) => Static<S>

/**
 * `empty_is_absent`: an optional member is absent, too, when it is `[]` in the place of an object, as PHP writes it, or `""` in the place of a
 * text that may not be empty, as clients in Go write it. In a JSON Schema `[]` in the place of an object is an empty one.
 */
type Leniency = { empty_is_absent: boolean }

/**
 * Compiles a schema once into a check of request values. The check drops optional members that are absent (contract 1.1), coerces
 * nothing, and throws ApiError 400 for the first problem found, with the code and message form of contract 2.3.
 */
export function shape<S extends TSchema>(schema: S, leniency: Leniency = STRICT): Shape<S> {
  const { presentIn, fits } = compile(schema, leniency)
  return (value, path) => {
    const present = presentIn(value)
    if (fits(present)) return present
    throw explain(schema as JsonSchema, present, path)
  }
}

/** The same check for values that may have another shape: null for these, since an error takes far longer than a check. */
export function shapeIfFits<S extends TSchema>(
  schema: S,
  leniency: Leniency = STRICT,
): (value: object) => Static<S> | null {
  const { presentIn, fits } = compile(schema, leniency)
  return (value) => {
    const present = presentIn(value)
    return fits(present) ? present : null
  }
}

function compile<S extends TSchema>(schema: S, leniency: Leniency) {
  const compiled = Compile(schema)
  return {
    presentIn: (value: unknown) => dropAbsent(schema as JsonSchema, value, leniency),
    fits: (present: unknown): present is Static<S> => compiled.Check(present),
  }
}

/**
 * U+FFFD takes the place of U+0000 and lone surrogates, in every text but names of members and those of members with the names in `except`.
 * `within`: the members in which those names have their meaning. Below any other, such as metadata or a JSON Schema, all is text.
 */
export type TextRepair = { except: ReadonlySet<string>; within: ReadonlySet<string> }

const ALL_TEXT: TextRepair = { except: new Set(), within: new Set() }

/**
 * Refuses what can be parsed but not stored or handled safely: NUL, lone surrogates, nesting over 64. With `repair`, texts are changed in
 * place instead of refused. Throws ApiError `invalid_value`.
 */
export function requireSafeJson(value: unknown, repair?: TextRepair): void {
  if (isSafe(value, 0)) return
  const search = unsafePart(value, { path: '', depth: 0, repair })
  let step = search.next()
  while (!step.done) step = search.next()
  if (step.value) throw unsafe(step.value)
}

/** The same for a large value, with other work between its parts, until `signal` aborts. */
export async function requireSafeJsonInTurns(
  value: unknown,
  { repair, signal }: { repair?: TextRepair; signal?: AbortSignal } = {},
): Promise<void> {
  const turn = turnTaker(1, signal)
  const search = unsafePart(value, { path: '', depth: 0, repair })
  let step = search.next()
  while (!step.done) {
    const other = turn()
    if (other) await other
    step = search.next()
  }
  if (step.value) throw unsafe(step.value)
}

type Unsafe = { path: string; reason: string }

function unsafe({ path, reason }: Unsafe): ApiError {
  const where = path === '' ? 'body' : `'${path}'`
  return new ApiError('invalid_value', asSentence(`Invalid ${where}: ${reason}`), { param: path || null })
}

/** The same question without the path to the answer, which costs more than the question. */
function isSafe(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return !hasUnstorableText(value)
  if (typeof value !== 'object' || value === null) return true
  if (depth >= JSON_DEPTH_MAX) return false
  if (Array.isArray(value)) return value.every((item) => isSafe(item, depth + 1))
  for (const name in value) {
    if (hasUnstorableText(name) || !isSafe((value as Record<string, unknown>)[name], depth + 1)) return false
  }
  return true
}

/** `repair`: of the texts of this part; absent where they are refused. `of` is the container that holds the part by `key`. */
type Part = { path: string; depth: number; repair: TextRepair | undefined; of?: Container; key?: string | number }
type Container = Record<string | number, unknown>

/** Where the first unsafe part is, if any; pauses after every value and every million characters. */
function* unsafePart(value: unknown, part: Part): Generator<undefined, Unsafe | null> {
  const { path, depth, repair } = part
  yield
  if (typeof value === 'string') return yield* unsafeText(value, part)
  if (typeof value !== 'object' || value === null) return null
  if (depth >= JSON_DEPTH_MAX) return { path: '', reason: `JSON may be nested at most ${JSON_DEPTH_MAX} levels deep` }
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const of = value as unknown as Container
      const problem = yield* unsafePart(value[i], { path: `${path}[${i}]`, depth: depth + 1, repair, of, key: i })
      if (problem) return problem
    }
    return null
  }
  for (const [name, member] of Object.entries(value)) {
    if (hasUnstorableText(name)) return { path, reason: 'a member name may not hold U+0000 or a lone surrogate' }
    const inner = path === '' ? name : `${path}.${name}`
    const part = { path: inner, depth: depth + 1, repair: repair && repairOf(name, member, repair) }
    const problem = yield* unsafePart(member, { ...part, of: value as Container, key: name })
    if (problem) return problem
  }
  return null
}

function repairOf(name: string, member: unknown, repair: TextRepair): TextRepair | undefined {
  if (typeof member === 'string') return repair.except.has(name) ? undefined : repair
  return repair.within.has(name) ? repair : ALL_TEXT
}

function* unsafeText(text: string, { path, repair, of, key }: Part): Generator<undefined, Unsafe | null> {
  const slices: string[] = []
  let isChanged = false
  for (const slice of slicesOf(text)) {
    const storable = storableText(slice)
    if (storable !== slice) {
      if (!repair || !of) return { path, reason: 'text may not hold U+0000 or a lone surrogate' }
      isChanged = true
    }
    slices.push(storable)
    yield
  }
  if (isChanged && of && key !== undefined) of[key] = slices.join('')
  return null
}

const SLICE_LENGTH = 1_000_000

/** A text in slices that split no pair of surrogates. */
function* slicesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + SLICE_LENGTH, text.length)
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to += 1
    yield text.slice(from, to)
    from = to
  }
}

const STRICT: Leniency = { empty_is_absent: false }

/** What holds nothing that is absent is returned as it is, uncopied. */
function dropAbsent(schema: JsonSchema, value: unknown, leniency: Leniency): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (schema.anyOf) {
    const meant = meantVariant(schema.anyOf, value)
    return meant ? dropAbsent(meant, value, leniency) : value
  }
  if (leniency.empty_is_absent && schema.additionalProperties === true) {
    return Array.isArray(value) && value.length === 0 ? {} : withEmptyObjects(value)
  }
  if (Array.isArray(value)) return schema.items ? dropFromArray(schema.items, value, leniency) : value
  return schema.properties ? dropFromObject(schema, value as Record<string, unknown>, leniency) : value
}

/** Members of a JSON Schema that are objects and may be empty. */
const OBJECTS: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

/** A JSON Schema of a client, with an empty object for each empty array in the place of one. What holds none is returned uncopied. */
function withEmptyObjects(schema: object): object {
  if (Array.isArray(schema)) return schema.length > 0 ? withEmptyInside(schema) : schema
  const members = schema as Record<string, unknown>
  let copy: Record<string, unknown> | null = null
  for (const name in members) {
    const member = members[name]
    if (typeof member !== 'object' || member === null) continue
    const isEmptyArray = Array.isArray(member) && member.length === 0
    const kept = isEmptyArray && OBJECTS.has(name) ? {} : withEmptyObjects(member)
    if (kept === member) continue
    copy ??= { ...members }
    copy[name] = kept
  }
  return copy ?? schema
}

function withEmptyInside(list: unknown[]): unknown[] {
  let copy: unknown[] | null = null
  for (let i = 0; i < list.length; i++) {
    const element = list[i]
    if (typeof element !== 'object' || element === null) continue
    const kept = withEmptyObjects(element)
    if (kept === element) continue
    copy ??= list.slice()
    copy[i] = kept
  }
  return copy ?? list
}

function dropFromArray(items: JsonSchema, value: unknown[], leniency: Leniency): unknown[] {
  let copy: unknown[] | null = null
  for (let i = 0; i < value.length; i++) {
    const item = dropAbsent(items, value[i], leniency)
    if (item === value[i]) continue
    copy ??= value.slice()
    copy[i] = item
  }
  return copy ?? value
}

function dropFromObject(
  schema: JsonSchema,
  value: Record<string, unknown>,
  leniency: Leniency,
): Record<string, unknown> {
  const { properties = {}, required = [] } = schema
  let copy: Record<string, unknown> | null = null
  for (const name in value) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (!known) continue
    const member = value[name]
    if (isAbsent(known, member, leniency) && !required.includes(name)) {
      copy ??= copyOf(value)
      delete copy[name]
      continue
    }
    const kept = dropAbsent(known, member, leniency)
    if (kept === member) continue
    copy ??= copyOf(value)
    copy[name] = kept
  }
  return copy ?? value
}

function isAbsent(schema: JsonSchema, value: unknown, { empty_is_absent }: Leniency): boolean {
  if (value === null || !empty_is_absent) return value === null
  const variants = schema.anyOf ?? [schema]
  if (value === '') return variants.some(isText) && !variants.some(takesEmptyText)
  if (!Array.isArray(value) || value.length > 0) return false
  return variants.some(isOwnObject) && !variants.some(({ type }) => type === 'array')
}

function isText({ type, enum: values }: JsonSchema): boolean {
  return type === 'string' || typeof values?.[0] === 'string'
}

function takesEmptyText({ type, const: only, enum: values, minLength, pattern }: JsonSchema): boolean {
  return type === 'string' && !minLength && (only ?? values ?? pattern) === undefined
}

/** An object of this API, not any object, such as a JSON Schema. */
function isOwnObject({ type, additionalProperties }: JsonSchema): boolean {
  return type === 'object' && additionalProperties !== true
}

function copyOf(value: Record<string, unknown>): Record<string, unknown> {
  return Object.assign(Object.create(null), value)
}
