import type { EntryMistake } from '../engine-entry.ts'
import type { JsonValue } from './contract.ts'

/** What each placeholder stands for; `undefined`, or a list without elements, when a request has nothing for it. */
export type TemplateValues = Readonly<Record<string, JsonValue | undefined>>

/**
 * JSON of the operator's with its placeholders, such as `{{prompt}}`, replaced. A text that is exactly one placeholder becomes its value
 * and keeps its type; inside a longer text the value is written as text. A member or element whose placeholder stands for nothing is
 * left out, and so is an object or a list of which nothing is left; `undefined` when that is everything. Values are not searched for
 * placeholders.
 */
export function fillTemplate(template: JsonValue, values: TemplateValues): JsonValue | undefined {
  if (typeof template === 'string') return fillText(template, values)
  if (Array.isArray(template)) {
    const filled = template.map((each) => fillTemplate(each, values)).filter((each) => each !== undefined)
    return template.length > 0 && filled.length === 0 ? undefined : filled
  }
  if (typeof template !== 'object' || template === null) return template
  const members = Object.entries(template)
  const filled = members.flatMap(([name, each]) => {
    const value = fillTemplate(each, values)
    return value === undefined ? [] : [[name, value] as const]
  })
  return members.length > 0 && filled.length === 0 ? undefined : Object.fromEntries(filled)
}

/** The names of all placeholders in a template. */
export function placeholdersIn(template: JsonValue): Set<string> {
  return new Set(textsIn(template, '').flatMap(({ text }) => namesIn(text)))
}

/** Placeholders of other names than those that are known, each with its path. */
export function unknownPlaceholders(template: JsonValue, known: readonly string[], path: string): EntryMistake[] {
  return textsIn(template, path).flatMap((each) =>
    namesIn(each.text)
      .filter((name) => !known.includes(name))
      .map((name) => ({
        path: each.path,
        message: `{{${name}}} is not a placeholder. There are ${known.map((one) => `{{${one}}}`).join(', ')}.`,
      })),
  )
}

const PLACEHOLDER = /\{\{\s*([^{}]*?)\s*\}\}/g
const ONE_PLACEHOLDER = /^\s*\{\{\s*([^{}]*?)\s*\}\}\s*$/

function fillText(text: string, values: TemplateValues): JsonValue | undefined {
  const names = namesIn(text)
  if (names.some((name) => isAbsent(values[name]))) return undefined
  const [, only] = ONE_PLACEHOLDER.exec(text) ?? []
  if (only !== undefined) return values[only]
  return text.replace(PLACEHOLDER, (_, name: string) => asText(values[name]!))
}

function isAbsent(value: JsonValue | undefined): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0)
}

function asText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function namesIn(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, name]) => name!)
}

function textsIn(template: JsonValue, path: string): Array<{ text: string; path: string }> {
  if (typeof template === 'string') return [{ text: template, path }]
  if (typeof template !== 'object' || template === null) return []
  return Object.entries(template).flatMap(([name, each]) => textsIn(each, path === '' ? name : `${path}.${name}`))
}
