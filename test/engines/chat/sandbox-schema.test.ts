import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Check } from 'typebox/schema'
import { sandboxChat } from '../../../server/engines/chat/sandbox/adapter.ts'
import { EngineError } from '../../../server/engines/engine-error.ts'
import { isRecord } from '../../../server/platform/json/record.ts'
import { law } from '../../support/law.ts'
import { longestTurn } from '../../support/longest-turn.ts'
import { type Answer, ask, textOf } from '../../support/upstream/sandbox.ts'

const engine = sandboxChat({ kind: 'sandbox' })
const MEMBERS = Array.from({ length: 800 }, (_, i) => [`member_${i}`, { $ref: '#' }])

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

for (const [what, schema] of Object.entries(particular())) {
  test(`satisfies ${what}`, async () => {
    for (const seed of [1, 2, 3]) {
      const value = await answerTo(schema, seed)
      assert.ok(accepts(schema, value), JSON.stringify(value))
    }
  })
}

for (const [what, schema] of Object.entries(large())) {
  test(`answers soon and briefly to ${what}`, async () => {
    const before = process.cpuUsage()
    const text = textOf(await ask(engine, 'Answer me.', { response_format: formatOf(schema) }))
    assert.ok(accepts(schema, JSON.parse(text)) && text.length < 4_000_000)
    assert.ok(process.cpuUsage(before).user < 5_000_000)
  })
}

for (const [what, { schema, problem }] of Object.entries(refused())) {
  test(`refuses ${what}, soon, naming the schema and the problem`, async () => {
    const before = process.cpuUsage()
    const asks = [
      { response_format: formatOf(schema), name: "response_format 'answer'" },
      { tools: [toolOf({ ...object({ a: schema }), $defs: schema.$defs })], name: "function 'do_it'" },
    ]
    for (const { name, ...options } of asks.slice(0, JSON.stringify(schema).includes('"#"') ? 1 : 2)) {
      await assert.rejects(ask(engine, 'Answer me.', options), (error) => {
        assert.ok(error instanceof EngineError && error.kind === 'rejected')
        const message = error.public_message ?? ''
        assert.ok(message.startsWith(`Invalid schema for ${name}: `) && message.includes(problem), message)
        return message.length < 500
      })
    }
    assert.ok(process.cpuUsage(before).user < 5_000_000)
  })
}

test('the work on a schema is done in short turns', async () => {
  for (const schema of [...Object.values(large()), ...Object.values(refused()).map(({ schema }) => schema)]) {
    const work = () => ask(engine, 'Answer me.', { response_format: formatOf(schema) }).catch(() => null)
    await work()
    const milliseconds = await longestTurn(work)
    assert.ok(milliseconds < 50, `${milliseconds} ms for ${JSON.stringify(schema).slice(0, 200)}`)
  }
})

test('the checker of these tests takes only what an object has itself for its members', () => {
  const schema = { type: 'object', properties: { valueOf: { type: 'integer' } } }
  assert.ok(accepts(schema, {}) && accepts(schema, { valueOf: 1 }) && accepts({ items: schema }, [{}]))
  assert.ok(!accepts(schema, { valueOf: 'x' }) && !accepts({ items: schema }, [{ valueOf: 'x' }]))
  assert.ok(!accepts({ type: 'object', required: ['valueOf'] }, {}))
})

test('values are taken from the prompt where they fit', async () => {
  const properties = {
    location: { type: 'string' },
    unit: { enum: ['kelvin', 'celsius'] },
    days: { type: 'integer', minimum: 1, maximum: 7 },
    email: { type: 'string', format: 'email' },
    date: { type: 'string', format: 'date' },
  }
  const tools = [toolOf({ type: 'object', properties, required: Object.keys(properties) })]
  const prompt = 'Mail bob@shop.example the weather in Rio Grande for 5 days from 2026-12-24 in celsius'
  assert.deepEqual(JSON.parse(argumentsOf(await ask(engine, prompt, { tools }))[0]!), {
    location: 'Rio Grande',
    unit: 'celsius',
    days: 5,
    email: 'bob@shop.example',
    date: '2026-12-24',
  })
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

function particular(): Record<string, Record<string, unknown>> {
  const node = {
    type: 'object',
    properties: { value: { type: 'integer' }, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
    required: ['value', 'next'],
    additionalProperties: false,
  }
  const person = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
  return {
    'a recursive definition that ends by null': { $defs: { node }, $ref: '#/$defs/node' },
    'allOf of two objects': {
      allOf: [person, { type: 'object', properties: { age: { type: 'integer', minimum: 0 } }, required: ['age'] }],
    },
    'oneOf distinguished by a constant': {
      oneOf: ['a', 'b'].map((kind) => ({
        type: 'object',
        properties: { kind: { const: kind }, [kind]: { type: 'number' } },
        required: ['kind', kind],
      })),
    },
    'oneOf whose branches overlap': {
      oneOf: [
        { type: 'integer', minimum: 0, maximum: 10 },
        { type: 'integer', minimum: 5, maximum: 20 },
      ],
    },
    'items that differ': { type: 'array', items: { enum: ['a', 'b', 'c', 'd'] }, minItems: 4, uniqueItems: true },
    'a tuple': { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false, minItems: 2 },
    'what it must not be': { type: 'boolean', not: { const: true } },
    'a list that contains': {
      ...{ type: 'array', items: { type: ['integer', 'string'] }, minItems: 3 },
      contains: { type: 'integer', minimum: 2 },
    },
    'a record with names of a length': {
      ...{ type: 'object', propertyNames: { type: 'string', minLength: 3 }, minProperties: 2 },
      additionalProperties: { type: 'number' },
    },
    'lists and records described twice': {
      ...{ type: 'object', required: ['rows', 'more'], additionalProperties: { type: 'integer' } },
      properties: {
        rows: { allOf: [{ items: { type: 'integer' } }, { items: { minimum: 7 }, minItems: 2 }], type: 'array' },
      },
      allOf: [{ additionalProperties: { minimum: 5 } }, { properties: { rows: true } }],
    },
    'a tuple of an older draft': {
      type: 'array',
      items: [{ const: 1 }, { const: 2 }],
      additionalItems: false,
      minItems: 2,
    },
    'a recursion through a list': object({
      value: { type: 'string' },
      children: { type: 'array', items: { $ref: '#' } },
    }),
    'a grammar whose shortest branch is not the first': {
      ...{ $defs: { sum: object({ left: { $ref: '#' }, right: { $ref: '#' } }), number: { type: 'number' } } },
      anyOf: [{ $ref: '#/$defs/sum' }, object({ negated: { $ref: '#' } }), { $ref: '#/$defs/number' }],
    },
    'a reference with a description beside it': {
      $defs: { node },
      ...object({ a: { $ref: '#/$defs/node', description: 'b' } }),
    },
    'an integer that is a multiple of a fraction': { type: 'integer', multipleOf: 2.5, minimum: 1 },
    'further members': { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 3 },
    'members that need others': {
      type: 'object',
      properties: { card: { type: 'string' }, address: { type: 'string' } },
      dependentRequired: { card: ['address'] },
    },
    'numbers between close bounds': { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1e-9 },
    'a length together with a pattern': { type: 'string', pattern: '^[a-z]+$', minLength: 20, maxLength: 40 },
    'members named as what every object inherits, left out at the end of their depth': [
      'valueOf',
      'constructor',
    ].reduce(
      (inner, name) => ({ type: 'object', properties: { a: inner, [name]: { type: 'integer' } } }),
      ['toString', '__proto__', 'valueOf', 'b'].reduce<Record<string, unknown>>(
        (inner, name) => ({ type: 'object', properties: Object.fromEntries([[name, inner]]) }),
        { type: 'integer' },
      ),
    ),
    'escaped pointers': { definitions: { 'a/b~c': { type: 'integer' } }, $ref: '#/definitions/a~1b~0c' },
  }
}

function object(properties: Record<string, unknown>): Record<string, unknown> {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

/** 990 characters of classes that no other pattern has. */
function patterned(seed: number): Record<string, unknown> {
  const classes = Array.from(
    { length: 110 },
    (_, i) => `[a-${String.fromCharCode(98 + (i % 24))}${(seed * 110 + i) % 1000}]?`,
  )
  return {
    type: 'string',
    pattern: `^${classes
      .join('')
      .slice(0, 800)
      .replace(/\[[^\]]*$/, '')}$`,
  }
}

function large(): Record<string, Record<string, unknown>> {
  const lists = Array.from({ length: 20 }, (_, i) => [
    `list_${i}`,
    { type: 'array', items: { type: 'string' }, minItems: 50 },
  ])
  const words = Array.from({ length: 4000 }, (_, i) => `word ${i}`)
  return {
    'hundreds of members that are the whole again': { type: 'object', properties: Object.fromEntries(MEMBERS) },
    'a thousand texts': object(Object.fromEntries(lists)),
    'a list of thousands of options': { type: 'array', items: { enum: words }, minItems: 500 },
    'long patterns': object(Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`p${i}`, patterned(i)]))),
    'many alternatives': { anyOf: words.slice(0, 1000).map((word) => object({ [word]: { type: 'integer' } })) },
  }
}

function refused(): Record<string, { schema: Record<string, unknown>; problem: string }> {
  const defs = (count: number, make: (next: object) => object) => ({
    $defs: Object.fromEntries([
      ...Array.from({ length: count }, (_, i) => [`d${i}`, make({ $ref: `#/$defs/d${i + 1}` })]),
      [`d${count}`, { type: 'string' }],
    ]),
    $ref: '#/$defs/d0',
  })
  const far = 'refers too far'
  const small = 'there is none that is small'
  const pattern = (source: string) => ({ schema: { type: 'string', pattern: source }, problem: "'pattern' at #" })
  return {
    'a schema that requires itself': { schema: object({ self: { $ref: '#' } }), problem: small },
    'a reference to itself': { schema: { $ref: '#' }, problem: far },
    'a choice of itself': { schema: { anyOf: [{ $ref: '#' }, { $ref: '#' }] }, problem: small },
    'hundreds of members that are the whole again, all required': {
      schema: object(Object.fromEntries(MEMBERS)),
      problem: small,
    },
    'references that double': { schema: defs(60, (next) => ({ allOf: [next, next] })), problem: far },
    'a chain of references': { schema: defs(3000, (next) => next), problem: far },
    'a billion items': {
      schema: { type: 'array', items: { type: 'array', items: { type: 'string' }, minItems: 1e9 }, minItems: 1e9 },
      problem: small,
    },
    'a text of a billion characters': { schema: { type: 'string', minLength: 1e9 }, problem: "'minLength' at #" },
    'a pattern that would never come to an end': {
      schema: { type: 'string', enum: ['a'.repeat(60)], pattern: '^(?:a+)+b$' },
      problem: "'pattern' at #",
    },
    'a pattern that looks ahead': pattern('^(?=.*\\d).{8,}$'),
    'a pattern that refers back': pattern('^(a|b)\\1$'),
    'a pattern that is no regular expression': pattern('(a'),
    'a pattern of groups within groups': pattern(`${'('.repeat(400)}a${')'.repeat(400)}`),
    'bounds that nothing lies between': {
      schema: { type: 'integer', exclusiveMinimum: 3, exclusiveMaximum: 4 },
      problem: small,
    },
    'options of another type': { schema: { type: 'string', enum: [1, 2] }, problem: "'type' at #" },
    'a reference that leads nowhere': { schema: { $ref: '#/$defs/x' }, problem: "'#/$defs/x' leads nowhere" },
    'a reference to another document': { schema: { $ref: 'https://example.com/a.json' }, problem: 'leads nowhere' },
    'an alternative that is never the only one': {
      schema: { oneOf: [{ type: 'integer' }, { type: 'number' }, { type: 'integer' }], type: 'integer' },
      problem: small,
    },
    'what a list contains': { schema: { type: 'array', contains: { $ref: '#' } }, problem: "'contains' at #" },
    'members by pattern': { schema: { patternProperties: { '^x': {} } }, problem: "'patternProperties' at #" },
    'nothing at all': { schema: { not: {} }, problem: "'not' at #" },
    'a constant beside its members': {
      schema: { const: { a: 1 }, properties: { a: { type: 'string' } } },
      problem: small,
    },
    'a condition on members': { schema: { if: { properties: { on: { const: false } } } }, problem: "'if' at #" },
  }
}

/** By a checker of others. It takes what every object inherits for members, so it is given objects that inherit nothing. */
function accepts(schema: Record<string, unknown>, value: unknown): boolean {
  return Check(
    schema,
    JSON.parse(JSON.stringify(value), (_, part) => (isRecord(part) ? withoutPrototype(part) : part)),
  )
}

function withoutPrototype(value: Record<string, unknown>): object {
  return Object.create(null, Object.getOwnPropertyDescriptors(value))
}

async function answerTo(schema: Record<string, unknown>, seed: number): Promise<unknown> {
  return JSON.parse(
    textOf(await ask(engine, 'Tell me about 3 cats in Paris.', { response_format: formatOf(schema), seed })),
  )
}

function formatOf(schema: Record<string, unknown>) {
  return { type: 'json_schema' as const, json_schema: { name: 'answer', schema } }
}

function toolOf(parameters: Record<string, unknown>) {
  return { type: 'function' as const, function: { name: 'do_it', parameters } }
}

function argumentsOf({ events }: Answer): string[] {
  const calls: string[] = []
  for (const event of events)
    if (event.type === 'tool-call-delta') calls[event.call] = (calls[event.call] ?? '') + event.arguments
  return calls
}
