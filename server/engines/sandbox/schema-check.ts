import {
  canonical,
  followReference,
  isRecord,
  isSchema,
  memberSchemas,
  namesOf,
  numberOf,
  type Schema,
  sameJson,
  schemasOf,
} from './schema-view.ts'

/** Steps that checks may take and how deep one may go; beyond them a value passes. */
export type CheckBudget = { steps: number; nesting?: number }

const NESTING_MAX = 300

/**
 * Whether `value` satisfies `schema`. `pattern` and `patternProperties` are not looked at, since a pattern of a stranger can take for
 * ever; unknown keywords and references that lead nowhere allow everything.
 */
export function satisfies(
  root: Schema,
  schema: Schema,
  value: unknown,
  budget: CheckBudget = { steps: 20_000 },
): boolean {
  if (typeof schema === 'boolean') return schema
  const nesting = budget.nesting ?? 0
  if (--budget.steps < 0 || nesting > NESTING_MAX) return true
  budget.nesting = nesting + 1
  const isSatisfied = satisfiesAll(root, schema, value, budget)
  budget.nesting = nesting
  return isSatisfied
}

function satisfiesAll(root: Schema, schema: Keywords, value: unknown, budget: CheckBudget): boolean {
  const passes = (part: Schema, of: unknown = value) => satisfies(root, part, of, budget)
  const target = schema.$ref === undefined ? undefined : followReference(root, schema.$ref)
  return (
    (target === undefined || passes(target)) &&
    (schema.type === undefined || [schema.type].flat().some((type) => hasType(value, type))) &&
    (schema.const === undefined || sameJson(schema.const, value)) &&
    (!Array.isArray(schema.enum) || schema.enum.some((option) => sameJson(option, value))) &&
    schemasOf(schema.allOf).every((part) => passes(part)) &&
    (!Array.isArray(schema.anyOf) || schemasOf(schema.anyOf).some((part) => passes(part))) &&
    (!Array.isArray(schema.oneOf) || schemasOf(schema.oneOf).filter((part) => passes(part)).length === 1) &&
    !(isSchema(schema.not) && passes(schema.not)) &&
    conditionHolds(schema, passes) &&
    (typeof value !== 'number' || numberFits(schema, value)) &&
    (typeof value !== 'string' || sizeFits([...value].length, schema.minLength, schema.maxLength)) &&
    (!Array.isArray(value) || arrayFits(schema, value, passes)) &&
    (!isRecord(value) || objectFits(schema, value, passes))
  )
}

type Keywords = Exclude<Schema, boolean>
type Passes = (part: Schema, of?: unknown) => boolean

function hasType(value: unknown, type: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isRecord(value)
    case 'integer':
      return Number.isInteger(value)
    default:
      return typeof value === type
  }
}

function conditionHolds(schema: Keywords, passes: Passes): boolean {
  if (!isSchema(schema.if)) return true
  const branch = passes(schema.if) ? schema.then : schema.else
  return !isSchema(branch) || passes(branch)
}

function numberFits(schema: Keywords, value: number): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  const step = numberOf(schema.multipleOf)
  return (
    value >= (numberOf(minimum) ?? -Infinity) &&
    value <= (numberOf(maximum) ?? Infinity) &&
    value > (numberOf(exclusiveMinimum) ?? -Infinity) &&
    value < (numberOf(exclusiveMaximum) ?? Infinity) &&
    !(exclusiveMinimum === true && value === minimum) &&
    !(exclusiveMaximum === true && value === maximum) &&
    (step === undefined || step <= 0 || isMultiple(value, step))
  )
}

/** Allows for the error of binary fractions: 0.3 is a multiple of 0.1. */
export function isMultiple(value: number, step: number): boolean {
  const times = value / step
  return Math.abs(times - Math.round(times)) < 1e-9 * Math.max(1, Math.abs(times))
}

function sizeFits(size: number, least: unknown, most: unknown): boolean {
  return size >= (numberOf(least) ?? 0) && size <= (numberOf(most) ?? Infinity)
}

function arrayFits(schema: Keywords, items: unknown[], passes: Passes): boolean {
  const tuple = schemasOf(Array.isArray(schema.prefixItems) ? schema.prefixItems : schema.items)
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items
  if (!sizeFits(items.length, schema.minItems, schema.maxItems)) return false
  if (schema.uniqueItems === true && new Set(items.map(canonical)).size < items.length) return false
  if (isSchema(schema.contains)) {
    const contained = items.filter((item) => passes(schema.contains as Schema, item)).length
    if (!sizeFits(contained, schema.minContains ?? 1, schema.maxContains)) return false
  }
  return items.every((item, index) => passes(tuple[index] ?? (isSchema(rest) ? rest : true), item))
}

function objectFits(schema: Keywords, value: Record<string, unknown>, passes: Passes): boolean {
  const declared = memberSchemas(schema.properties)
  const names = Object.keys(value)
  const others = schema.patternProperties === undefined ? schema.additionalProperties : true
  return (
    sizeFits(names.length, schema.minProperties, schema.maxProperties) &&
    namesOf(schema.required).every((name) => Object.hasOwn(value, name)) &&
    names.every((name) => passes(declared.get(name) ?? (isSchema(others) ? others : true), value[name])) &&
    (!isSchema(schema.propertyNames) || names.every((name) => passes(schema.propertyNames as Schema, name))) &&
    (!isRecord(schema.dependentRequired) ||
      Object.entries(schema.dependentRequired).every(
        ([name, needs]) => !names.includes(name) || namesOf(needs).every((need) => names.includes(need)),
      )) &&
    [...memberSchemas(schema.dependentSchemas)].every(([name, part]) => !names.includes(name) || passes(part))
  )
}
