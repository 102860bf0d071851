import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { isRecord } from '../../../../platform/json/record.ts'

export type Keywords = Readonly<Record<string, unknown>>
/** What a value has cost so far, in microseconds on an ordinary machine, roughly. `weights` are those of keywords met before. */
export type Effort = { effort: number; weights: Map<object, number> }

/** For one value with all its tries, and for one step, which nothing interrupts. */
const EFFORT_MAX = 1_000_000
export const STEP_MAX = 15_000
/** To compare a value with one option of many is quick. */
export const OPTION = 1 / 32

/** Keywords about a value itself, not about its members and items: TypeBox checks these. */
export const OWN =
  /^(title|description|type|const|enum|format|multipleOf|uniqueItems|required|dependentRequired|(m|exclusiveM)(in|ax)(imum|Length|Items|Properties|Contains)?)$/
/** TypeBox checks these too where their schema holds nothing but the former. */
export const LIMITED = /^(not|if|then|else|contains|propertyNames)$/

export class Unsatisfiable extends Error {}

/** Throws Unsatisfiable once a value has cost too much. The same schema always costs the same. */
export function spendEffort(work: Effort, effort: number): void {
  work.effort += effort
  if (work.effort > EFFORT_MAX) throw new Unsatisfiable('to find one takes too long')
}

/** Whether a value satisfies the keywords about the value itself. Throws Unsatisfiable where that takes too long to find out. */
export function check(work: Effort, keywords: Keywords, value: unknown): boolean {
  return Value.Check(ownOf(work, keywords, value), bare(value))
}

/** The keyword that a value does not satisfy. Throws as `check` does. */
export function errorOf(work: Effort, keywords: Keywords, value: unknown): string | undefined {
  return Value.Errors(ownOf(work, keywords, value), bare(value))[0]?.keyword
}

/** What it costs to look at every part of a JSON value. `option`: at a text, number or the like in an array. */
export function weigh(value: unknown, option = 1): number {
  if (typeof value === 'string') return option + value.length / 64
  if (typeof value !== 'object' || value === null) return option
  if (Array.isArray(value)) return value.reduce((sum, each) => sum + weigh(each, option), 1)
  return Object.values(value).reduce((sum, each) => sum + 1 + weigh(each, option), 1)
}

/** The keywords that TypeBox checks, their cost counted. */
function ownOf(work: Effort, keywords: Keywords, value: unknown): TSchema {
  const own: Keywords = Object.fromEntries(
    Object.entries(keywords).filter(([name]) => OWN.test(name) || LIMITED.test(name)),
  )
  const isWhole = own.uniqueItems === true || Object.keys(own).some((name) => LIMITED.test(name))
  const size = isContainer(value) ? Object.keys(value).length : weigh(value)
  let effort = isWhole ? weigh(value) : size
  for (const each of Object.values(own)) {
    const weight = (isContainer(each) ? work.weights.get(each) : undefined) ?? weigh(each, OPTION)
    if (isContainer(each)) work.weights.set(each, weight)
    effort += each === own.contains || each === own.propertyNames ? weight * size : weight
  }
  if (effort > STEP_MAX) throw new Unsatisfiable('to check one takes too long')
  spendEffort(work, effort)
  return own
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** TypeBox takes what every object inherits for its members. */
function bare(value: unknown): unknown {
  return isRecord(value) ? Object.assign(Object.create(null), value) : value
}

/** The schema a `$ref` leads to: `#`, or a JSON pointer within the document. */
export function follow(root: unknown, reference: string): unknown {
  let at = /^#(\/|$)/.test(reference) ? root : undefined
  for (const part of reference.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    at = typeof at === 'object' && at !== null && Object.hasOwn(at, name) ? (at as Keywords)[name] : undefined
  }
  if (typeof at !== 'boolean' && !isRecord(at)) throw new Unsatisfiable(`the reference '${reference}' leads nowhere`)
  return at
}

export function sizeOf(value: unknown, otherwise = 0): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : otherwise
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
