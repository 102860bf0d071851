/** The part of JSON Schema that bodies are described in. */
export type BodySchema = {
  type?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: BodySchema[]
  items?: BodySchema
  maxItems?: number
  properties?: Record<string, BodySchema>
  required?: string[]
  additionalProperties?: boolean | BodySchema
  maxProperties?: number
  maxLength?: number
}

/** One part of a body that can be repeated: `path` leads to it, branches of unions as `|0`, elements as `[]`, names of members as `{}`. */
export type Part = { path: string; kind: 'array' | 'members' | 'text' | 'free'; max: number | null }

/** Stands for a text of so many bytes, so that a large body is small until it is sent. */
export const textOf = (bytes: number) => `@text:${bytes}@`
/** The body with its texts written out, as JSON. */
export const bodyText = (value: unknown): string =>
  JSON.stringify(value).replace(/@text:(\d+)@/g, (_, bytes: string) => 'x'.repeat(Number(bytes)))

/** Every part of a schema that can be repeated, within all branches of unions. */
export function partsOf(schema: BodySchema, path = ''): Part[] {
  if (schema.anyOf) return schema.anyOf.flatMap((each, i) => partsOf(each, `${path}|${i}`))
  if (schema.const !== undefined || schema.enum) return []
  if (schema.type === 'string') return [{ path, kind: 'text', max: schema.maxLength ?? null }]
  if (schema.type === 'array') {
    const own: Part = { path, kind: 'array', max: schema.maxItems ?? null }
    return [own, ...(schema.items ? partsOf(schema.items, `${path}[]`) : [])]
  }
  if (schema.type === 'object') {
    const own: Part = { path, kind: 'members', max: schema.maxProperties ?? null }
    const members = Object.entries(schema.properties ?? {})
    return [own, ...members.flatMap(([name, each]) => partsOf(each, `${path}.${name}`))]
  }
  return schema.type === undefined ? [{ path, kind: 'free', max: null }] : []
}

/** How far a part is grown: `elements` of arrays and objects, `bytes` of texts. */
export type Growth = { path: string; kind: Part['kind']; elements: number; bytes: number }

/**
 * A value of the schema, as small as it may be but for the part that grows. `given`: values of members by name, where any will not do.
 */
export function grown(
  schema: BodySchema,
  growth: Growth,
  given: Record<string, unknown>,
  path = '',
  name = '',
): unknown {
  const grows = growth.path === path
  if (schema.anyOf) {
    const towards = schema.anyOf.findIndex((_, i) => leadsTo(growth.path, `${path}|${i}`))
    if (towards < 0 && Object.hasOwn(given, name)) return given[name]
    return grown(schema.anyOf[Math.max(0, towards)]!, growth, given, `${path}|${Math.max(0, towards)}`)
  }
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.type === 'array') {
    if (!leadsTo(growth.path, path) && Object.hasOwn(given, name)) return given[name]
    const item = grown(schema.items ?? {}, growth, given, `${path}[]`)
    return Array.from({ length: grows ? growth.elements : 1 }, () => item)
  }
  if (schema.type === 'integer' || schema.type === 'number') return 4
  if (schema.type === 'boolean') return false
  if (schema.type === 'object') return grownObject(schema, growth, given, path)
  if (schema.type === 'string' || schema.type === undefined) {
    if (grows) return growth.kind === 'text' ? textOf(growth.bytes) : freeValue(growth)
    return Object.hasOwn(given, name) ? given[name] : 'a'
  }
  return null
}

function grownObject(schema: BodySchema, growth: Growth, given: Record<string, unknown>, path: string): unknown {
  const entries: Array<[string, unknown]> = []
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const inner = `${path}.${name}`
    if (!schema.required?.includes(name) && !leadsTo(growth.path, inner)) continue
    entries.push([name, grown(member, growth, given, inner, name)])
  }
  if (growth.path === path) {
    const { additionalProperties: more } = schema
    const value = typeof more === 'object' ? grown(more, growth, given, `${path}{}`) : []
    for (let i = 0; i < growth.elements; i++) entries.push([String(i + 100), value])
  }
  return Object.fromEntries(entries)
}

/** Objects within arrays, as wide as there may be values. */
function freeValue({ elements }: Growth): unknown {
  return Array.from({ length: Math.floor(elements / 3) }, () => ({ a: 1 }))
}

/** Whether a path goes through another, or ends there. */
function leadsTo(path: string, through: string): boolean {
  return path === through || (path.startsWith(through) && '.|[{'.includes(path[through.length]!))
}
