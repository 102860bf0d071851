import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { ApiError } from '../errors.ts'
import { JSON_DEPTH_MAX } from '../json/scan.ts'
import { hasUnstorableText } from '../text.ts'
import { turnTaker } from '../turns.ts'
import { explain, type JsonSchema, meantVariant } from './explain.ts'

/** `path`: the place of the value in the body, when it is checked separately. */
export type Shape<S extends TSchema> = (value: unknown, path?: string) => Static<S>

/**
 * Compiles a schema once into a check of request values. The check drops `null` of optional members (contract 1.1), coerces nothing,
 * and throws ApiError 400 for the first problem found, with the code and message form of contract 2.3.
 */
export function shape<S extends TSchema>(schema: S): Shape<S> {
  const compiled = Compile(schema)
  return (value, path) => {
    const present = dropNulls(schema as JsonSchema, value)
    if (compiled.Check(present)) return present as Static<S>
    throw explain(schema as JsonSchema, present, path)
  }
}

/** Refuses what can be parsed but not stored or handled safely: NUL, lone surrogates, nesting over 64. Throws ApiError `invalid_value`. */
export function requireSafeJson(value: unknown): void {
  if (isSafe(value, 0)) return
  const search = unsafePart(value, '', 0)
  let step = search.next()
  while (!step.done) step = search.next()
  if (step.value) throw unsafe(step.value)
}

/** The same for a large value, with other work between its parts. */
export async function requireSafeJsonInTurns(value: unknown): Promise<void> {
  const turn = turnTaker(1)
  const search = unsafePart(value, '', 0)
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
  return new ApiError('invalid_value', `Invalid ${where}: ${reason}.`, { param: path || null })
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

/** Where the first unsafe part is, if any; pauses after every value and every million characters. */
function* unsafePart(value: unknown, path: string, depth: number): Generator<undefined, Unsafe | null> {
  yield
  if (typeof value === 'string') {
    for (const slice of slicesOf(value)) {
      if (hasUnstorableText(slice)) return { path, reason: 'text may not hold U+0000 or a lone surrogate' }
      yield
    }
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  if (depth >= JSON_DEPTH_MAX) return { path: '', reason: `JSON may be nested at most ${JSON_DEPTH_MAX} levels deep` }
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const problem = yield* unsafePart(value[i], `${path}[${i}]`, depth + 1)
      if (problem) return problem
    }
    return null
  }
  for (const [name, member] of Object.entries(value)) {
    if (hasUnstorableText(name)) return { path, reason: 'a member name may not hold U+0000 or a lone surrogate' }
    const problem = yield* unsafePart(member, path === '' ? name : `${path}.${name}`, depth + 1)
    if (problem) return problem
  }
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

/** `null` for an optional member means absent. What holds no such null is returned as it is, uncopied. */
function dropNulls(schema: JsonSchema, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (schema.anyOf) {
    const meant = meantVariant(schema.anyOf, value)
    return meant ? dropNulls(meant, value) : value
  }
  if (Array.isArray(value)) return schema.items ? dropFromArray(schema.items, value) : value
  return schema.properties ? dropFromObject(schema, value as Record<string, unknown>) : value
}

function dropFromArray(items: JsonSchema, value: unknown[]): unknown[] {
  let copy: unknown[] | null = null
  for (let i = 0; i < value.length; i++) {
    const item = dropNulls(items, value[i])
    if (item === value[i]) continue
    copy ??= value.slice()
    copy[i] = item
  }
  return copy ?? value
}

function dropFromObject(schema: JsonSchema, value: Record<string, unknown>): Record<string, unknown> {
  const { properties = {}, required = [] } = schema
  let copy: Record<string, unknown> | null = null
  for (const name in value) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (!known) continue
    const member = value[name]
    if (member === null && !required.includes(name)) {
      copy ??= copyOf(value)
      delete copy[name]
      continue
    }
    const kept = dropNulls(known, member)
    if (kept === member) continue
    copy ??= copyOf(value)
    copy[name] = kept
  }
  return copy ?? value
}

function copyOf(value: Record<string, unknown>): Record<string, unknown> {
  return Object.assign(Object.create(null), value)
}
