import type { PageLanguage } from '../../platform/http/page.ts'
import { translateText, WORDS } from './words.ts'

type Json = Record<string, unknown>

/** One line of a table of fields. `type` is HTML, the rest is text. */
export type Field = { name: string; type: string; required: boolean; note: string }

/** The fields of an object, those of objects within it under dotted names. Objects with a name of their own are left to it. */
export function fieldsOf(schema: Json, language: PageLanguage, prefix = ''): Field[] {
  const properties = (schema.properties ?? {}) as Record<string, Json>
  const required = new Set((schema.required as string[] | undefined) ?? [])
  return Object.entries(properties).flatMap(([name, member]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    const field = {
      name: path,
      type: typeOf(member, language),
      required: required.has(name),
      note: noteOf(member, language),
    }
    const { inner, suffix } = innerOf(member)
    return [field, ...(inner ? fieldsOf(inner, language, `${path}${suffix}`) : [])]
  })
}

/** HTML for what a value may be: a type, a choice of values, a link to a named object. */
export function typeOf(schema: Json, language: PageLanguage): string {
  const words = WORDS[language]
  const {
    $ref,
    const: fixed,
    enum: choices,
    anyOf,
    oneOf,
    type,
    items,
  } = schema as {
    $ref?: string
    const?: unknown
    enum?: unknown[]
    anyOf?: Json[]
    oneOf?: Json[]
    type?: string | string[]
    items?: Json
  }
  if ($ref) return linkTo($ref.slice($ref.lastIndexOf('/') + 1))
  if (fixed !== undefined) return value(fixed)
  if (choices) return choices.length > 12 ? words.text : choices.map(value).join(' ')
  const variants = anyOf ?? oneOf
  if (variants) return [...new Set(variants.map((each) => typeOf(each, language)))].join(words.or)
  if (type === 'array') return words.list_of(items ? typeOf(items, language) : words.anything)
  return Array.isArray(type) ? type.join(words.or) : (type ?? words.anything)
}

function innerOf(member: Json): { inner: Json | null; suffix: string } {
  if (member.properties) return { inner: member, suffix: '' }
  const items = member.items as Json | undefined
  if (items?.properties) return { inner: items, suffix: '[]' }
  const inside = (member.anyOf as Json[] | undefined)?.find(({ properties }) => properties)
  return { inner: inside ?? null, suffix: '' }
}

/** The description, range and default of a schema. */
function noteOf(schema: Json, language: PageLanguage): string {
  const { description, minimum, maximum, minLength, maxLength, minItems, maxItems, default: usual } = schema
  const words = WORDS[language]
  const notes = [
    description === undefined ? undefined : translateText(language, String(description)),
    rangeText(language, [minimum, maximum]),
    rangeText(language, [minLength, maxLength], 'characters'),
    rangeText(language, [minItems, maxItems], 'elements'),
    usual === undefined ? undefined : words.default(String(usual)),
  ]
  return notes.filter((note) => note !== undefined).join(' ')
}

function rangeText(
  language: PageLanguage,
  [min, max]: [min: unknown, max: unknown],
  unit?: 'characters' | 'elements',
): string | undefined {
  const { range, units } = WORDS[language]
  if (min === undefined && max === undefined) return undefined
  const end = language === 'ja' ? '。' : '.'
  const counted = unit ? units[unit] : ''
  if (max === undefined) return `${range.from(min, counted)}${end}`
  return `${min === undefined ? range.to(max, counted) : range.between(min, max, counted)}${end}`
}

function linkTo(name: string): string {
  return `<a href="#schema-${name}">${name}</a>`
}

function value(choice: unknown): string {
  return `<code>${String(choice).replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</code>`
}
