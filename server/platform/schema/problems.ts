import type { TSchema } from 'typebox'
import { Settings } from 'typebox/system'
import { Value } from 'typebox/value'

/** One thing wrong with a value. `pointer` is its place as RFC 6901 has it; `unknown` marks a member that the schema does not have. */
export type Problem = { pointer: string; message: string; unknown?: true }

type SchemaError = { keyword: string; message: string; schemaPath: string; instancePath: string; params: object }
/** Error texts that a schema of a setting may carry; editors show both of them. */
type Wording = { type?: string; errorMessage?: string; patternErrorMessage?: string }

/**
 * Everything wrong with a value, for whoever wrote it by hand: what is expected, never what was there, since it may be a secret. The one
 * exception is a number where the schema wants an amount as text. Empty when the value is right, or when no error says more than that.
 */
export function problemsIn(schema: TSchema, value: unknown): Problem[] {
  const errors = allErrors(schema, value)
  const found = new Map<string, Problem>()
  const add = (pointer: string, message: string, more: { unknown?: true } = {}) => {
    if (!found.has(pointer)) found.set(pointer, { pointer, message, ...more })
  }
  for (const error of errors) {
    const { keyword, instancePath: pointer } = error
    if (keyword === 'required') {
      for (const name of namesIn(error, 'requiredProperties')) add(`${pointer}/${escaped(name)}`, 'is missing')
    } else if (keyword === 'additionalProperties') {
      for (const name of namesIn(error, 'additionalProperties')) {
        const member = `${pointer}/${escaped(name)}`
        if (!hasErrorInside(errors, member)) add(member, 'unknown setting', { unknown: true })
      }
    } else if (keyword !== 'boolean' && keyword !== 'anyOf') {
      add(pointer, wordsFor(error, errors, { schema, value }))
    }
  }
  return [...found.values()]
}

/** More than a file has mistakes; the default of the library is 8. */
const ERRORS_MAX = 1000

function allErrors(schema: TSchema, value: unknown): SchemaError[] {
  const { maxErrors } = Settings.Get()
  Settings.Set({ maxErrors: ERRORS_MAX })
  try {
    return Value.Errors(schema, value) as SchemaError[]
  } finally {
    Settings.Set({ maxErrors })
  }
}

function wordsFor(
  error: SchemaError,
  errors: readonly SchemaError[],
  root: { schema: TSchema; value: unknown },
): string {
  const { keyword, params } = error
  const rule = at(root.schema, error.schemaPath.replace(/^#/, '')) as Wording | undefined
  if (keyword === 'enum') return oneOf((params as { allowedValues: unknown[] }).allowedValues)
  if (keyword === 'const') return oneOf(allOf(errors, error, 'allowedValue'))
  if (keyword === 'type') return typeWords(error, errors, root)
  if (keyword === 'pattern') return rule?.patternErrorMessage ?? error.message
  const { limit, comparison } = params as { limit?: number; comparison?: string }
  if (comparison === '>=' && keyword === 'minimum') return `must be at least ${limit}`
  if (comparison === '<=' && keyword === 'maximum') return `must be at most ${limit}`
  if (keyword === 'minLength') return 'must not be empty'
  return error.message
}

function typeWords(
  error: SchemaError,
  errors: readonly SchemaError[],
  { schema, value }: { schema: TSchema; value: unknown },
): string {
  const { schemaPath, instancePath } = error
  const rule = at(schema, schemaPath.replace(/^#/, '')) as Wording | undefined
  const union = at(schema, schemaPath.replace(/^#/, '').replace(/\/anyOf\/\d+$/, '')) as Wording | undefined
  const given = at(value, instancePath)
  if (rule?.patternErrorMessage && rule.errorMessage && typeof given === 'number') {
    const amount = plainDecimal(given)
    const fits = new RegExp((rule as { pattern?: string }).pattern ?? '$^').test(amount)
    const name = instancePath.split('/').at(-1)
    return fits ? `must be text; write ${name}: "${amount}" in quotation marks` : rule.errorMessage
  }
  const own = rule?.errorMessage ?? union?.errorMessage
  if (own) return own
  const types = [...new Set(allOf(errors, error, 'type').flat().map(String))]
  const words = `must be ${types.map((type) => TYPES[type] ?? type).join(' or ')}`
  return types.includes('string') && typeof given === 'number' ? `${words}; write it in quotation marks` : words
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
}

/** Without an exponent, with the fewest digits: 1e-7 is `0.0000001`. */
function plainDecimal(value: number): string {
  const text = String(value)
  return text.includes('e') ? value.toFixed(12).replace(/\.?0+$/, '') : text
}

function oneOf(values: readonly unknown[]): string {
  return values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(', ')}`
}

/** The `param` of every error of this kind at this place, as for the variants of a union. */
function allOf(errors: readonly SchemaError[], { keyword, instancePath }: SchemaError, param: string): unknown[] {
  return errors
    .filter((each) => each.keyword === keyword && each.instancePath === instancePath)
    .map(({ params }) => (params as Record<string, unknown>)[param])
}

/** A member whose content is wrong is reported by that content alone. */
function hasErrorInside(errors: readonly SchemaError[], pointer: string): boolean {
  return errors.some(
    ({ keyword, instancePath }) => keyword !== 'boolean' && `${instancePath}/`.startsWith(`${pointer}/`),
  )
}

function namesIn({ params }: SchemaError, param: string): string[] {
  return (params as Record<string, string[]>)[param] ?? []
}

/** The part of `root` at a pointer; undefined when there is none. */
function at(root: unknown, pointer: string): unknown {
  let node = root
  for (const part of pointer.split('/').slice(1)) {
    if (typeof node !== 'object' || node === null) return undefined
    node = (node as Record<string, unknown>)[part.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return node
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
