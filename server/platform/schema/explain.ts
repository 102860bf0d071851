import { ApiError, type ErrorCode } from '../errors.ts'
import { isRecord } from '../json/record.ts'
import { countCodePoints, describeLength, isLongerThan } from '../text.ts'

/** The part of JSON Schema that our request schemas use. */
export type JsonSchema = {
  type?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: JsonSchema[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: boolean | JsonSchema
  maxProperties?: number
  items?: JsonSchema
  minItems?: number
  maxItems?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
}

/** The pattern of text that must hold something other than white space. */
export const NOT_BLANK = '\\S'

/**
 * The first thing wrong with a value that failed its schema, as the error a client gets. Members are looked at in the order the
 * schema lists them, unknown ones last. `path` is the place of the value in the body. Source: contract 2.3.
 */
export function explain(schema: JsonSchema, value: unknown, path = ''): ApiError {
  return problem(schema, value, path) ?? new ApiError('invalid_value', 'Invalid request body.')
}

/** The variant of a union an object or array was meant to be: by its constant member, else the only one of its JSON type. */
export function meantVariant(variants: readonly JsonSchema[], value: object): JsonSchema | undefined {
  const ofType = variants.filter((variant) => variant.type === (Array.isArray(value) ? 'array' : 'object'))
  if (ofType.length <= 1) return ofType[0]
  return ofType.find((variant) => {
    const { role, type } = variant.properties ?? {}
    const tagged = value as { role?: unknown; type?: unknown }
    if (role?.const !== undefined) return tagged.role === role.const
    return type?.const !== undefined && tagged.type === type.const
  })
}

/** The sentence that lists what is taken instead; `allowed` has at least one value. */
export function supportedValues(allowed: readonly unknown[]): string {
  const list = allowed.map((item) => (typeof item === 'string' ? `'${item}'` : String(item)))
  return list.length === 1 ? `Supported value is: ${list[0]}.` : `Supported values are: ${oxford(list)}.`
}

function problem(schema: JsonSchema, value: unknown, path: string): ApiError | null {
  if (schema.anyOf) return unionProblem(schema.anyOf, value, path)
  if (schema.const !== undefined) return value === schema.const ? null : choice(path, value, [schema.const])
  if (schema.enum) return schema.enum.includes(value) ? null : choice(path, value, schema.enum)
  if (schema.type && !hasType(schema.type, value)) return wrongType(path, schema.type, value)
  if (typeof value === 'string') return stringProblem(schema, value, path)
  if (typeof value === 'number') return numberProblem(schema, value, path)
  if (Array.isArray(value)) return arrayProblem(schema, value, path)
  if (typeof value === 'object' && value !== null) return objectProblem(schema, value as Record<string, unknown>, path)
  return null
}

function objectProblem(schema: JsonSchema, value: Record<string, unknown>, path: string): ApiError | null {
  const properties = schema.properties ?? {}
  const required = new Set(schema.required ?? [])
  for (const [name, member] of Object.entries(properties)) {
    const inner = join(path, name)
    if (!Object.hasOwn(value, name)) {
      if (required.has(name))
        return refuse('missing_required_parameter', `Missing required parameter: '${inner}'.`, inner)
      continue
    }
    const found = problem(member, value[name], inner)
    if (found) return found
  }
  const names = Object.keys(value)
  if (schema.maxProperties !== undefined && names.length > schema.maxProperties) {
    const limit = schema.maxProperties
    return refuse(
      'object_above_max_properties',
      `Invalid '${path}': too many properties. Expected an object with at most ${limit} properties, but got an object with ${names.length} properties instead.`,
      path,
    )
  }
  for (const name of names) {
    if (Object.hasOwn(properties, name)) continue
    const inner = join(path, name)
    if (schema.additionalProperties === false) {
      return refuse('unknown_parameter', `Unknown parameter: '${inner}'.`, inner)
    }
    if (typeof schema.additionalProperties === 'object') {
      const found = problem(schema.additionalProperties, value[name], inner)
      if (found) return found
    }
  }
  return null
}

function arrayProblem(schema: JsonSchema, value: unknown[], path: string): ApiError | null {
  const length = value.length
  if (schema.maxItems !== undefined && length > schema.maxItems) {
    const text = `array too long. Expected an array with maximum length ${schema.maxItems}, but got an array with length ${length} instead.`
    return refuse('array_above_max_length', `Invalid '${path}': ${text}`, path)
  }
  if (schema.minItems !== undefined && length < schema.minItems) {
    const text = `array too short. Expected an array with minimum length ${schema.minItems}, but got an array with length ${length} instead.`
    return refuse('array_below_min_length', `Invalid '${path}': ${text}`, path)
  }
  if (!schema.items) return null
  for (let i = 0; i < length; i++) {
    const found = problem(schema.items, value[i], `${path}[${i}]`)
    if (found) return found
  }
  return null
}

function stringProblem(schema: JsonSchema, value: string, path: string): ApiError | null {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema
  if (isLongerThan(value, maxLength)) {
    const text = `string too long. Expected a string with maximum length ${maxLength}, but got a string with length ${describeLength(value)} instead.`
    return refuse('string_above_max_length', `Invalid '${path}': ${text}`, path)
  }
  // A text has half as many characters as code units, or more.
  const length = value.length < 2 * minLength ? countCodePoints(value) : minLength
  if (length < minLength) {
    const text = `string too short. Expected a string with minimum length ${minLength}, but got a string with length ${length} instead.`
    return refuse('string_below_min_length', `Invalid '${path}': ${text}`, path)
  }
  if (schema.pattern === NOT_BLANK && !/\S/u.test(value)) {
    return refuse('invalid_value', `Invalid '${path}': it is blank. Expected some text.`, path)
  }
  if (schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value)) {
    const text = `string does not match pattern. Expected a string that matches the pattern '${schema.pattern}'.`
    return refuse('invalid_value', `Invalid '${path}': ${text}`, path)
  }
  return null
}

function numberProblem(schema: JsonSchema, value: number, path: string): ApiError | null {
  const kind = schema.type === 'integer' ? 'integer' : 'decimal'
  if (schema.maximum !== undefined && value > schema.maximum) {
    const text = `${kind} above maximum value. Expected a value <= ${schema.maximum}, but got ${value} instead.`
    return refuse(`${kind}_above_max_value`, `Invalid '${path}': ${text}`, path)
  }
  if (schema.minimum !== undefined && value < schema.minimum) {
    const text = `${kind} below minimum value. Expected a value >= ${schema.minimum}, but got ${value} instead.`
    return refuse(`${kind}_below_min_value`, `Invalid '${path}': ${text}`, path)
  }
  if (schema.exclusiveMinimum !== undefined && value <= schema.exclusiveMinimum) {
    const text = `${kind} below minimum value. Expected a value > ${schema.exclusiveMinimum}, but got ${value} instead.`
    return refuse(`${kind}_below_min_value`, `Invalid '${path}': ${text}`, path)
  }
  return null
}

/** Whether a variant takes it, without making the errors of every variant that it is not: most elements of a long list are right. */
function isAnyOf(variants: JsonSchema[], value: unknown, path: string): boolean {
  if (typeof value === 'object' && value !== null) {
    const meant = meantVariant(variants, value)
    return meant !== undefined && problem(meant, value, path) === null
  }
  const ofType = variants.filter(({ type }) => type !== undefined && hasType(type, value))
  return ofType.some((variant) => problem(variant, value, path) === null)
}

/** Explains the variant the value was meant to be: the one whose constant member (`type`, `role`) matches, else the one of its JSON type. */
function unionProblem(variants: JsonSchema[], value: unknown, path: string): ApiError | null {
  if (isAnyOf(variants, value, path)) return null
  const problems = variants.map((variant) => problem(variant, value, path))
  if (problems.includes(null)) return null
  const constants = variants.flatMap((variant) => (variant.const === undefined ? [] : [variant.const]))
  if (constants.length === variants.length) return choice(path, value, constants)

  const ofType = variants.filter((variant) => variant.type !== undefined && hasType(variant.type, value))
  if (ofType.length === 1) return problem(ofType[0]!, value, path)
  if (ofType.length > 1 && isRecord(value)) return taggedProblem(ofType, value, path)
  const expected = [...new Set(variants.map((variant) => variant.type ?? 'value'))].map(article).join(' or ')
  return refuse(
    'invalid_type',
    `Invalid type for '${path}': expected ${expected}, but got ${nameOf(value)} instead.`,
    path,
  )
}

function taggedProblem(variants: JsonSchema[], value: Record<string, unknown>, path: string): ApiError | null {
  for (const tag of ['type', 'role']) {
    const tags = variants.map((variant) => variant.properties?.[tag]?.const)
    if (tags.some((constant) => constant === undefined)) continue
    const meant = variants[tags.indexOf(value[tag])]
    if (meant) return problem(meant, value, path)
    const inner = join(path, tag)
    if (!Object.hasOwn(value, tag))
      return refuse('missing_required_parameter', `Missing required parameter: '${inner}'.`, inner)
    return choice(inner, value[tag], tags)
  }
  return problem(variants[0]!, value, path)
}

function choice(path: string, value: unknown, allowed: unknown[]): ApiError {
  if (typeof value !== typeof allowed[0]) return wrongType(path, typeof allowed[0], value)
  const got = typeof value === 'string' ? `'${value.slice(0, 64)}'` : String(value)
  return refuse('invalid_value', `Invalid value: ${got}. ${supportedValues(allowed)}`, path)
}

function oxford(items: string[]): string {
  if (items.length === 2) return items.join(' and ')
  return `${items.slice(0, -1).join(', ')}, and ${items.at(-1)}`
}

function wrongType(path: string, expected: string, value: unknown): ApiError {
  if (path === '')
    return refuse(
      'invalid_type',
      `Invalid request body: expected ${article(expected)}, but got ${nameOf(value)} instead.`,
      null,
    )
  return refuse(
    'invalid_type',
    `Invalid type for '${path}': expected ${article(expected)}, but got ${nameOf(value)} instead.`,
    path,
  )
}

function refuse(code: ErrorCode, message: string, param: string | null): ApiError {
  return new ApiError(code, message, { param: param || null })
}

function hasType(type: string, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'number') return typeof value === 'number' && Number.isFinite(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isRecord(value)
  if (type === 'null') return value === null
  return typeof value === type
}

function nameOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal number'
  return article(typeof value)
}

function article(type: string): string {
  return type === 'null' ? 'null' : `${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}
