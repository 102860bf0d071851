type Json = Record<string, unknown>

/** Keywords that say something about a value and do not restrict it. */
const ANNOTATIONS = ['title', 'description', 'default'] as const

/**
 * The same shapes in the forms that client generators compile: constants and choices name their type, and a choice of constants is one
 * `enum`. oapi-codegen and openapi-generator make a union type of one struct per constant from `anyOf`.
 */
export function generatorForms(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(generatorForms)
  if (typeof value !== 'object' || value === null) return value
  const inner = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, generatorForms(member)]))
  return typed(choiceOf(inner))
}

/**
 * `anyOf` of constants of one type as one `enum`; `null` among them stays beside it. What one member identifies is `oneOf`. An object of any
 * members is left out beside other shapes: it is what some clients send in place of text, and openapi-generator (Go) has no name for it.
 */
function choiceOf(given: Json): Json {
  const schema = withoutFreeForm(given)
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf)) return schema
  if (schema.discriminator) return { ...rest, oneOf: anyOf }
  const constants = (anyOf as Json[]).filter((each) => each.type !== 'null')
  const values = constants.flatMap((each) => (each.enum as unknown[] | undefined) ?? [each.const])
  const isChoice =
    constants.length > 1 && constants.every(isConstant) && new Set(values.map((each) => typeof each)).size === 1
  if (!isChoice) return schema
  const choice = typed({ enum: [...new Set(values)] })
  if (constants.length === anyOf.length) return { ...rest, ...choice }
  return { ...rest, anyOf: [choice, { type: 'null' }] }
}

function withoutFreeForm(schema: Json): Json {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || !anyOf.some((each) => each.type !== 'null' && !isFreeForm(each))) return schema
  const kept = anyOf.filter((each) => !isFreeForm(each))
  return kept.length === 1 ? { ...rest, ...kept[0] } : { ...rest, anyOf: kept }
}

function isFreeForm({ type, properties, additionalProperties }: Json): boolean {
  const members = Object.keys(properties ?? {}).length + Object.keys(additionalProperties ?? {}).length
  return type === 'object' && members === 0
}

function isConstant(schema: Json): boolean {
  const others = Object.keys(schema).filter((name) => !['type', 'const', 'enum', ...ANNOTATIONS].includes(name))
  return others.length === 0 && (schema.const !== undefined || Array.isArray(schema.enum))
}

/** With the type of its constants, which the validator does not need. */
function typed(schema: Json): Json {
  const { type, const: constant, enum: choices } = schema
  if (type !== undefined) return schema
  const sample = Array.isArray(choices) ? choices[0] : constant
  return typeof sample === 'string' || typeof sample === 'boolean' ? { type: typeof sample, ...schema } : schema
}
