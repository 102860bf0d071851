import assert from 'node:assert/strict'
import fc from 'fast-check'
import { law } from '../../../support/law.ts'
import { ask } from './ask.ts'
import { accepts, answerTo, argumentsOf, engine, toolOf } from './schemas.ts'

/** Schemas that some value satisfies, of all the keywords clients use. */
const { schema: anySchema } = fc.letrec<{ schema: Record<string, unknown> }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf(),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    tie('schema').map((schema) => ({ allOf: [schema, { description: 'the same again' }] })),
    list(tie('schema')),
    record(tie('schema')),
  ),
}))

law('json_schema answers satisfy the schema, whatever it says', async (seed) => {
  await fc.assert(
    fc.asyncProperty(anySchema, fc.integer({ min: 0, max: 5 }), async (schema, variant) => {
      const value = await answerTo(schema, variant)
      assert.ok(accepts(schema, value), `${JSON.stringify(schema)}\n${JSON.stringify(value)}`)
    }),
    { seed, numRuns: 300 },
  )
})

law('arguments of a call satisfy the schema of the tool', async (seed) => {
  await fc.assert(
    fc.asyncProperty(record(anySchema), async (parameters) => {
      const answer = await ask(engine, 'Do it in Paris with 3 of them.', { tools: [toolOf(parameters)] })
      const value = JSON.parse(argumentsOf(answer)[0]!)
      assert.ok(accepts(parameters, value), `${JSON.stringify(parameters)}\n${JSON.stringify(value)}`)
    }),
    { seed, numRuns: 200 },
  )
})

function leaf(): fc.Arbitrary<Record<string, unknown>> {
  const bounds = fc.tuple(fc.integer({ min: -500, max: 500 }), fc.nat(300))
  const lengths = fc
    .tuple(fc.nat(12), fc.nat(30))
    .map(([minLength, more]) => ({ minLength, maxLength: minLength + more }))
  return fc.oneof(
    fc.constantFrom({ type: 'boolean' }, { type: 'null' }, { type: ['string', 'null'] }, { const: 'fixed' }, {}),
    lengths.map((sizes) => ({ type: 'string', ...sizes })),
    fc
      .constantFrom('date', 'date-time', 'time', 'email', 'uri', 'uuid', 'ipv4', 'ipv6', 'hostname')
      .map((format) => ({ type: 'string', format })),
    fc
      .constantFrom('^[A-Z]{2}-\\d{4}$', '^(?:cat|dog)s?$', '^\\w+@\\w+\\.com$', '[^a-y\\s]{3,}', '^#[0-9a-f]{6}$')
      .map((pattern) => ({ type: 'string', pattern })),
    fc
      .array(fc.oneof(fc.string(), fc.integer(), fc.constant(null)), { minLength: 1, maxLength: 4 })
      .map((options) => ({ enum: options })),
    bounds.map(([minimum, more]) => ({ type: 'integer', minimum, maximum: minimum + more })),
    bounds.map(([exclusiveMinimum, more]) => ({
      type: 'number',
      exclusiveMinimum,
      exclusiveMaximum: exclusiveMinimum + more + 0.5,
    })),
    fc
      .tuple(bounds, fc.constantFrom(2, 3, 5, 0.5, 7))
      .map(([[minimum], multipleOf]) => ({ type: 'number', minimum, multipleOf })),
  )
}

function list(items: fc.Arbitrary<Record<string, unknown>>): fc.Arbitrary<Record<string, unknown>> {
  const sizes = fc.tuple(fc.nat(3), fc.nat(4))
  return fc
    .tuple(items, sizes)
    .map(([items, [minItems, more]]) => ({ type: 'array', items, minItems, maxItems: minItems + more }))
}

function record(member: fc.Arbitrary<Record<string, unknown>>): fc.Arbitrary<Record<string, unknown>> {
  const name = fc.oneof(
    fc.constantFrom('name', 'city', 'url', 'id', '__proto__', 'valueOf', 'toString', 'constructor', ''),
    fc.string({ maxLength: 8 }),
  )
  return fc
    .tuple(
      fc.uniqueArray(fc.tuple(name, member), { selector: ([key]) => key, maxLength: 4 }),
      fc.array(fc.boolean(), { maxLength: 4 }),
    )
    .map(([members, needed]) => ({
      type: 'object',
      properties: Object.fromEntries(members),
      required: members.flatMap(([key], index) => (needed[index] === true ? [key] : [])),
      additionalProperties: false,
    }))
}
