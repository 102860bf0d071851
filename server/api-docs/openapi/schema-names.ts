import { identifyChoices } from './discriminators.ts'

type Json = Record<string, unknown>

/** Which operation a shape belongs to, and whether clients send it. */
type Scope = { tag: string; sent: boolean }

/**
 * Names that generated code has for itself: openapi-python-client and oapi-codegen call the HTTP response so, and the names of errors in
 * TypeScript follow from it.
 */
const RESERVED: Readonly<Record<string, string>> = { Response: 'ResponseObject' }

/**
 * Replaces the shapes of our objects in `value` by references: `{ object: "api_key", … }` is named `ApiKey`, and a shape with a title by
 * its title. A second shape of one object is named for what distinguishes it, such as `DeletedVideo` or `CreatedApiKey`, or by number.
 * A variant of a union is named by its `type` or `role` where no other shape of its part of the API has the same, such as
 * `ChatImageUrlParam`; a generator would number it.
 */
export function nameSchemas(value: unknown): { value: unknown; schemas: Record<string, unknown> } {
  const variants = variantNames(value)
  const schemas = new Map<string, { text: string; schema: unknown }>()
  const replaced = walk(value, { tag: '', sent: false }, (schema, { original, scope }) => {
    const base = baseName(schema)
    const variant = base === null ? variantName(original, scope) : null
    if (variant !== null && variants.get(variant) === JSON.stringify(original)) {
      schemas.set(variant, { text: '', schema })
      return { $ref: `#/components/schemas/${variant}` }
    }
    if (base === null) return schema
    const text = JSON.stringify(schema)
    for (const name of candidates(base, schema)) {
      const taken = schemas.get(name)
      if (taken && taken.text !== text) continue
      schemas.set(name, { text, schema })
      return { $ref: `#/components/schemas/${name}` }
    }
    return schema
  })
  const sorted = [...schemas].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, { schema }]) => [name, schema] as const)
  const shapes = Object.fromEntries(sorted)
  return { value: identifyChoices(replaced, shapes), schemas: identifyChoices(shapes, shapes) }
}

/** The names of variants that mean one shape, with the text of that shape. */
function variantNames(value: unknown): ReadonlyMap<string, string | null> {
  const names = new Map<string, string | null>()
  walk(value, { tag: '', sent: false }, (schema, { original, scope }) => {
    const name = variantName(original, scope)
    if (name === null) return schema
    const text = JSON.stringify(original)
    names.set(name, names.get(name) === undefined || names.get(name) === text ? text : null)
    return schema
  })
  return names
}

/** Inside out, so that a shape refers to those it holds by name too. */
function walk(
  value: unknown,
  scope: Scope,
  replace: (schema: Json, of: { original: Json; scope: Scope }) => unknown,
): unknown {
  if (Array.isArray(value)) return value.map((item) => walk(item, scope, replace))
  if (typeof value !== 'object' || value === null) return value
  const original = value as Json
  const tag = typeof original.operationId === 'string' ? String((original.tags as string[])[0]) : scope.tag
  const members = Object.entries(original).map(([name, member]) => {
    const sent = scope.sent || name === 'requestBody'
    return [name, walk(member, { tag, sent }, replace)]
  })
  return replace(Object.fromEntries(members), { original, scope })
}

function baseName(schema: Json): string | null {
  if (typeof schema.title === 'string') return schema.title
  const properties = schema.properties as Record<string, Json> | undefined
  const object = properties?.object?.const
  if (schema.type !== 'object' || typeof object !== 'string') return null
  if (object === 'list') return listName(properties!)
  const name = object.split(/[_.]/).map(capital).join('')
  if (properties!.deleted) return `Deleted${name.replace(/Deleted$/, '')}`
  return RESERVED[name] ?? name
}

/** `{ type: "image_url", … }` of a chat request is `ChatImageUrlParam`, `{ type: "output_text", … }` of a response `ResponsesOutputText`. */
function variantName(schema: Json, { tag, sent }: Scope): string | null {
  const { type, role } = (schema.properties ?? {}) as Record<string, Json>
  if (schema.type !== 'object') return null
  const message = typeof role?.const === 'string' ? `${role.const}_message` : null
  const word = message ?? (typeof type?.const === 'string' ? type.const : null)
  if (word === null) return null
  return [tag, ...word.split(/[_.]/), ...(sent ? ['param'] : [])].map(capital).join('')
}

function listName({ data }: Record<string, Json>): string | null {
  const element = (data?.items as Json | undefined)?.$ref
  return typeof element === 'string' ? `${element.slice(element.lastIndexOf('/') + 1)}List` : null
}

function* candidates(base: string, { properties = {} }: Json): Generator<string> {
  if ('signing_secret' in (properties as Json)) yield `${base}WithSecret`
  yield base
  if ('key' in (properties as Json) || 'token' in (properties as Json)) yield `Created${base}`
  for (let number = 2; ; number++) yield `${base}${number}`
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}
