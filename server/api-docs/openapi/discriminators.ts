type Json = Record<string, unknown>

/** Members that identify a shape among others. */
const KEYS = ['type', 'role'] as const

/**
 * A choice of shapes that one member identifies, as `oneOf`: generators make a union of it, and of `anyOf` one shape that requires the members
 * of all. `schemas` are the named shapes. There is a discriminator where every choice has a name.
 */
export function identifyChoices<Value>(value: Value, schemas: Readonly<Record<string, unknown>>): Value {
  const walk = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(walk)
    if (typeof node !== 'object' || node === null) return node
    const inner: Json = Object.fromEntries(Object.entries(node).map(([name, member]) => [name, walk(member)]))
    const { anyOf, ...rest } = inner
    if (!Array.isArray(anyOf)) return inner
    const found = identifying(anyOf as Json[], schemas)
    if (found === null) return inner
    const { member, values } = found
    const refs = (anyOf as Json[]).flatMap(({ $ref }) => (typeof $ref === 'string' ? [$ref] : []))
    if (refs.length < anyOf.length) return { ...rest, oneOf: anyOf }
    const mapping = Object.fromEntries(refs.flatMap((ref, index) => values[index]!.map((each) => [each, ref])))
    return { ...rest, discriminator: { propertyName: member, mapping }, oneOf: anyOf }
  }
  return walk(value) as Value
}

/** The member by which the objects among `choices` differ, and its values in each. Null when there is none, or only one object. */
function identifying(choices: readonly Json[], schemas: Readonly<Record<string, unknown>>) {
  const shapes = choices
    .map((choice) => (typeof choice.$ref === 'string' ? schemas[choice.$ref.replace(/^.*\//, '')] : choice) as Json)
    .filter((shape) => !PLAIN.has(shape?.type))
  if (shapes.length < 2) return null
  for (const member of KEYS) {
    const values = shapes.map((shape) => valuesOf(shape, member))
    const all = values.flat()
    if (values.every(({ length }) => length > 0) && new Set(all).size === all.length) return { member, values }
  }
  return null
}

const PLAIN: ReadonlySet<unknown> = new Set(['string', 'integer', 'number', 'boolean', 'null'])

/** The constants of a member that the shape requires. */
function valuesOf(shape: unknown, name: string): string[] {
  const { properties, required } = (shape ?? {}) as { properties?: Record<string, Json>; required?: string[] }
  const member = properties?.[name]
  if (member === undefined || !required?.includes(name)) return []
  const values = Array.isArray(member.enum) ? member.enum : [member.const]
  return values.filter((each) => typeof each === 'string')
}
