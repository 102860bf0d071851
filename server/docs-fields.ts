type Json = Record<string, unknown>

/** One line of a table of fields. `type` is HTML, the rest is text. */
export type Field = { name: string; type: string; required: boolean; note: string }

/** The fields of an object, those of objects within it under dotted names. Objects with a name of their own are left to it. */
export function fieldsOf(schema: Json, prefix = ''): Field[] {
  const properties = (schema.properties ?? {}) as Record<string, Json>
  const required = new Set((schema.required as string[] | undefined) ?? [])
  return Object.entries(properties).flatMap(([name, member]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    const field = { name: path, type: typeOf(member), required: required.has(name), note: noteOf(member) }
    const { inner, suffix } = innerOf(member)
    return [field, ...(inner ? fieldsOf(inner, `${path}${suffix}`) : [])]
  })
}

/** HTML for what a value may be: a type, a choice of values, a link to a named object. */
export function typeOf(schema: Json): string {
  const {
    $ref,
    const: fixed,
    enum: choices,
    anyOf,
    type,
    items,
  } = schema as {
    $ref?: string
    const?: unknown
    enum?: unknown[]
    anyOf?: Json[]
    type?: string | string[]
    items?: Json
  }
  if ($ref) return linkTo($ref.slice($ref.lastIndexOf('/') + 1))
  if (fixed !== undefined) return value(fixed)
  if (choices) return choices.length > 12 ? 'text' : choices.map(value).join(' ')
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(' or ')
  if (type === 'array') return `list of ${items ? typeOf(items) : 'anything'}`
  return Array.isArray(type) ? type.join(' or ') : (type ?? 'anything')
}

function innerOf(member: Json): { inner: Json | null; suffix: string } {
  if (member.properties) return { inner: member, suffix: '' }
  const items = member.items as Json | undefined
  if (items?.properties) return { inner: items, suffix: '[]' }
  const inside = (member.anyOf as Json[] | undefined)?.find(({ properties }) => properties)
  return { inner: inside ?? null, suffix: '' }
}

/** What the schema says beyond the type. */
function noteOf(schema: Json): string {
  const { description, minimum, maximum, minLength, maxLength, minItems, maxItems, default: usual } = schema
  const notes = [
    description,
    rangeText(minimum, maximum),
    rangeText(minLength, maxLength, ' characters'),
    rangeText(minItems, maxItems, ' elements'),
    usual === undefined ? undefined : `Default ${usual}.`,
  ]
  return notes.filter((note) => note !== undefined).join(' ')
}

function rangeText(min: unknown, max: unknown, unit = ''): string | undefined {
  if (min === undefined && max === undefined) return undefined
  if (max === undefined) return `At least ${min}${unit}.`
  return min === undefined ? `At most ${max}${unit}.` : `${min} to ${max}${unit}.`
}

function linkTo(name: string): string {
  return `<a href="#schema-${name}">${name}</a>`
}

function value(choice: unknown): string {
  return `<code>${String(choice).replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</code>`
}
