import type { GrammarSchema } from './protocol.ts'
import { refusal } from './refuse.ts'

/**
 * A JSON schema in the words from which `node-llama-cpp` makes a grammar: an answer under the grammar satisfies the schema, with every
 * property present and none beside the declared ones unless `additionalProperties` declares them.
 * What has no such words is refused by its `path`, or left out when `loose`: as in tools without `strict`, whose schema is a description.
 * Source: https://node-llama-cpp.withcat.ai/guide/grammar
 */
export function grammarSchema(schema: unknown, path: string, { loose }: { loose: boolean }): GrammarSchema {
  return convert(schema, { path, loose, depth: 0, count: { schemas: 0 } })
}

type Place = { path: string; loose: boolean; depth: number; count: { schemas: number } }
type Schema = Record<string, unknown>

/** Deeper schemas are refused: the grammar of llama.cpp is read recursively. */
const DEPTH_MAX = 32
const SCHEMAS_MAX = 500
/** llama.cpp writes repetitions out, and reads no grammar with more than 2000 of one thing. */
const REPETITIONS_MAX = 1000

const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'] as const
type TypeName = (typeof TYPES)[number]

/** Words that constrain nothing. */
const NOTES = new Set([
  'title',
  'description',
  'default',
  'examples',
  '$schema',
  '$id',
  '$comment',
  'deprecated',
  'strict',
])
const WORDS: Record<TypeName, readonly string[]> = {
  string: ['minLength', 'maxLength', 'format'],
  number: [],
  integer: [],
  boolean: [],
  null: [],
  object: ['properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems'],
}
const FORMATS = new Set(['date-time', 'date', 'time'])
const COMMON = ['type', '$defs', 'definitions']

const ANY: GrammarSchema = {
  oneOf: [
    { type: ['string', 'number', 'boolean', 'null'] },
    { type: 'object', additionalProperties: true },
    { type: 'array' },
  ],
}

function convert(schema: unknown, place: Place): GrammarSchema {
  if (schema === true) return ANY
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    return missing(place, '', 'must be a JSON schema that has values')
  if (place.depth > DEPTH_MAX) throw refusal(place.path, `is nested more than ${DEPTH_MAX} levels deep`)
  if (++place.count.schemas > SCHEMAS_MAX) throw refusal(place.path, `is one of more than ${SCHEMAS_MAX} schemas`)
  const given = schema as Schema
  return { ...convertWords(given, place), ...definitions(given, place) }
}

function convertWords(schema: Schema, place: Place): GrammarSchema {
  if (typeof schema.$ref === 'string')
    return { ...reference(schema.$ref, place), ...unknownWords(schema, ['$ref'], place) }
  for (const word of ['oneOf', 'anyOf']) {
    const each = schema[word]
    if (!Array.isArray(each) || each.length === 0) continue
    unknownWords(schema, [word], place)
    return { oneOf: each.map((one, i) => convert(one, inside(place, `${word}[${i}]`))) }
  }
  if ('const' in schema)
    return { ...literals([schema.const], 'const', place), ...unknownWords(schema, ['const', 'type'], place) }
  if (Array.isArray(schema.enum) && schema.enum.length > 0)
    return { ...literals(schema.enum, 'enum', place), ...unknownWords(schema, ['enum', 'type'], place) }
  return ofTypes(schema, place)
}

function ofTypes(schema: Schema, place: Place): GrammarSchema {
  const types = typesOf(schema, place)
  const words = types.flatMap((type) => WORDS[type])
  unknownWords(schema, words, place)
  if (types.length === TYPES.length) return ANY
  const each = types.map((type) => ofType(type, schema, place))
  return each.length === 1 ? each[0]! : { oneOf: each }
}

/** The types that a schema names, or else those that its words are about; every type where it says nothing. */
function typesOf(schema: Schema, place: Place): TypeName[] {
  const named = typeof schema.type === 'string' ? [schema.type] : schema.type
  if (Array.isArray(named)) {
    const known = TYPES.filter((type) => named.includes(type))
    if (known.length !== new Set(named).size || known.length === 0) missing(place, '.type', 'must name types of JSON')
    return known.length === 0 ? [...TYPES] : known
  }
  const meant = TYPES.filter((type) => WORDS[type].some((word) => word in schema))
  return meant.length === 0 ? [...TYPES] : meant
}

function ofType(type: TypeName, schema: Schema, place: Place): GrammarSchema {
  if (type === 'object') return { type, ...ofObject(schema, place) }
  if (type === 'array') return { type, ...ofArray(schema, place) }
  if (type !== 'string') return { type }
  const { format } = schema
  if (format === undefined) return { type, ...numbersOf(schema, ['minLength', 'maxLength'], place) }
  if (typeof format !== 'string' || !FORMATS.has(format)) {
    missing(place, '.format', 'a grammar knows the formats date-time, date and time')
    return { type, ...numbersOf(schema, ['minLength', 'maxLength'], place) }
  }
  if ('minLength' in schema || 'maxLength' in schema) missing(place, '.format', 'cannot be combined with a length')
  return { type, format }
}

function ofObject(schema: Schema, place: Place): GrammarSchema {
  const properties = Object.entries((schema.properties ?? {}) as Schema)
  const names = new Set(properties.map(([name]) => name))
  const undeclared = Array.isArray(schema.required) ? schema.required.find((name) => !names.has(name)) : undefined
  if (undeclared !== undefined) missing(place, '.required', 'names a property that properties does not declare')
  const more = schema.additionalProperties
  return {
    properties: Object.fromEntries(
      properties.map(([name, each]) => [name, convert(each, inside(place, `properties.${name}`))]),
    ),
    ...(more === true || (properties.length === 0 && more === undefined)
      ? { additionalProperties: true }
      : more !== undefined && more !== false
        ? { additionalProperties: convert(more, inside(place, 'additionalProperties')) }
        : {}),
    ...numbersOf(schema, ['minProperties', 'maxProperties'], place),
  }
}

function ofArray(schema: Schema, place: Place): GrammarSchema {
  const { items, prefixItems } = schema
  return {
    ...(items !== undefined && items !== true && { items: convert(items, inside(place, 'items')) }),
    ...(Array.isArray(prefixItems) && {
      prefixItems: prefixItems.map((each, i) => convert(each, inside(place, `prefixItems[${i}]`))),
    }),
    ...numbersOf(schema, ['minItems', 'maxItems'], place),
  }
}

function numbersOf(schema: Schema, names: readonly string[], place: Place): GrammarSchema {
  const numbers = names.flatMap((name) => (name in schema ? [[name, schema[name]] as const] : []))
  const kept = numbers.filter(([name, value]) => {
    const fits = Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= REPETITIONS_MAX
    if (!fits) missing(place, `.${name}`, `must be at most ${REPETITIONS_MAX}`)
    return fits
  })
  return Object.fromEntries(kept)
}

function literals(values: readonly unknown[], word: 'const' | 'enum', place: Place): GrammarSchema {
  if (values.some((value) => typeof value === 'object' && value !== null)) {
    missing(place, `.${word}`, 'a grammar knows strings, numbers, booleans and null')
    return ANY
  }
  return word === 'const' ? { const: values[0] } : { enum: values }
}

function reference(ref: string, place: Place): GrammarSchema {
  const name = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(ref)?.[1]
  return name === undefined ? missing(place, '.$ref', 'must be of the form #/$defs/name') : { $ref: `#/$defs/${name}` }
}

function definitions(schema: Schema, place: Place): GrammarSchema {
  const given = { ...(schema.definitions as object | undefined), ...(schema.$defs as object | undefined) }
  const entries = Object.entries(given).map(([name, each]) => [name, convert(each, inside(place, `$defs.${name}`))])
  return entries.length === 0 ? {} : { $defs: Object.fromEntries(entries) }
}

/** Refuses the words of a schema that a grammar cannot keep to. */
function unknownWords(schema: Schema, known: readonly string[], place: Place): GrammarSchema {
  const word = Object.keys(schema).find((name) => !NOTES.has(name) && !COMMON.includes(name) && !known.includes(name))
  if (word !== undefined) missing(place, `.${word}`, 'cannot be expressed in a grammar of llama.cpp')
  return {}
}

function missing({ path, loose }: Place, member: string, reason: string): GrammarSchema {
  if (loose) return ANY
  throw refusal(path + member, reason)
}

function inside(place: Place, member: string): Place {
  return { ...place, path: `${place.path}.${member}`, depth: place.depth + 1 }
}
