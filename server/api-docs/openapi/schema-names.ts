type Json = Record<string, unknown>

/**
 * Replaces the shapes of our objects in `value` by references: `{ object: "api_key", … }` is named `ApiKey`, and a shape with a title by
 * its title. A second shape of one object is named for what distinguishes it, such as `DeletedVideo` or `CreatedApiKey`, or by number.
 */
export function nameSchemas(value: unknown): { value: unknown; schemas: Record<string, unknown> } {
  const schemas = new Map<string, { text: string; schema: unknown }>()
  const replaced = walk(value, (schema) => {
    const base = baseName(schema)
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
  return { value: replaced, schemas: Object.fromEntries(sorted) }
}

/** Inside out, so that a shape refers to those it holds by name too. */
function walk(value: unknown, replace: (schema: Json) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => walk(item, replace))
  if (typeof value !== 'object' || value === null) return value
  return replace(Object.fromEntries(Object.entries(value).map(([name, member]) => [name, walk(member, replace)])))
}

function baseName(schema: Json): string | null {
  if (typeof schema.title === 'string') return schema.title
  const properties = schema.properties as Record<string, Json> | undefined
  const object = properties?.object?.const
  if (schema.type !== 'object' || typeof object !== 'string') return null
  if (object === 'list') return listName(properties!)
  const name = object.split(/[_.]/).map(capital).join('')
  return properties!.deleted ? `Deleted${name.replace(/Deleted$/, '')}` : name
}

function listName({ data }: Record<string, Json>): string | null {
  const element = (data?.items as Json | undefined)?.$ref
  return typeof element === 'string' ? `${element.slice(element.lastIndexOf('/') + 1)}List` : null
}

function* candidates(base: string, { properties = {} }: Json): Generator<string> {
  yield base
  if ('key' in (properties as Json) || 'token' in (properties as Json)) yield `Created${base}`
  for (let number = 2; ; number++) yield `${base}${number}`
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}
