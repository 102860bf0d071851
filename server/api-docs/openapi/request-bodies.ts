type Json = Record<string, unknown>

/** The schema of a JSON body, in which `null` may stand for every member that may be absent. Source: contract 1.1. */
export function withNulls(schema: Json): Json {
  const {
    properties,
    required = [],
    items,
    anyOf,
  } = schema as {
    properties?: Record<string, Json>
    required?: string[]
    items?: Json
    anyOf?: Json[]
  }
  return {
    ...schema,
    ...(anyOf && { anyOf: anyOf.map(withNulls) }),
    ...(items && { items: withNulls(items) }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, member]) => {
          const inner = withNulls(member)
          return [name, required.includes(name) ? inner : orNull(inner)]
        }),
      ),
    }),
  }
}

/**
 * The form of a multipart body. Members that are objects, or arrays of them, are parts of JSON.
 * Source: https://spec.openapis.org/oas/v3.1.1#encoding-object
 */
export function formContent(schema: Json): Json {
  const parts = Object.entries((schema.properties ?? {}) as Record<string, Json>)
  const json = parts.filter(([, part]) => isObject(part) || isObject((part.items ?? {}) as Json))
  const encoding = Object.fromEntries(json.map(([name]) => [name, { contentType: 'application/json' }]))
  return { schema, ...(json.length > 0 && { encoding }) }
}

function isObject({ type }: Json): boolean {
  return type === 'object'
}

function orNull(schema: Json): Json {
  const { type, anyOf, description, default: usual, ...rest } = schema
  const about = { ...(description !== undefined && { description }), ...(usual !== undefined && { default: usual }) }
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: 'null' }] }
  if (typeof type === 'string' && !rest.properties && rest.enum === undefined && rest.const === undefined)
    return { ...schema, type: [type, 'null'] }
  return { ...about, anyOf: [{ ...(type !== undefined && { type }), ...rest }, { type: 'null' }] }
}
