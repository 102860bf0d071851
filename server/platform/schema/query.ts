import type { TSchema } from 'typebox'
import { ApiError } from '../errors.ts'
import { hasUnstorableText } from '../text.ts'
import type { JsonSchema } from './explain.ts'

const INTEGER = /^-?\d{1,30}$/

/**
 * Query values as their schema wants them: integers and booleans are read from text, strictly; text that is neither stays text and
 * fails the schema with a clear error. A list is a repeated name, or one with brackets as SDKs send it. Unknown members are dropped. Throws ApiError `invalid_value` for text that cannot be stored.
 */
export function parseQuery(schema: TSchema, query: unknown): Record<string, unknown> {
  return readText(schema as JsonSchema, query as Record<string, unknown>)
}

function readText(schema: JsonSchema, query: Record<string, unknown>): Record<string, unknown> {
  const out: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const value = member.type === 'array' ? listOf(query, name) : query[name]
    if (value === undefined) continue
    if ([value].flat().some((each) => typeof each === 'string' && hasUnstorableText(each))) {
      throw new ApiError('invalid_value', `Invalid '${name}': text may not hold U+0000 or a lone surrogate.`, {
        param: name,
      })
    }
    out[name] = typeof value === 'string' ? fromText(member, value) : value
  }
  return out
}

/** The values of `name` and `name[]`; undefined when there is neither. */
function listOf(query: Record<string, unknown>, name: string): unknown[] | undefined {
  const values = [query[name] ?? [], query[`${name}[]`] ?? []].flat()
  return values.length === 0 ? undefined : values
}

/** One text as the type its schema names; left as text when it does not read as that. */
export function fromText(schema: { type?: string }, text: string): unknown {
  if (schema.type === 'integer' && INTEGER.test(text)) return Number(text)
  if (schema.type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
