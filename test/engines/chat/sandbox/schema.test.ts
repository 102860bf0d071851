import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, textOf } from './ask.ts'
import { accepts, answerTo, argumentsOf, engine, formatOf, object, toolOf } from './schemas.ts'

for (const [what, schema] of Object.entries(particular())) {
  test(`satisfies ${what}`, async () => {
    for (const seed of [1, 2, 3]) {
      const value = await answerTo(schema, seed)
      assert.ok(accepts(schema, value), JSON.stringify(value))
    }
  })
}

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

test('numbers are small where the schema allows small ones', async () => {
  const safe = Number.MAX_SAFE_INTEGER
  const ranges = [
    {},
    { minimum: -safe, maximum: safe },
    { maximum: 1e9 },
    { minimum: -1e12 },
    { minimum: 0, maximum: 1e6 },
  ]
  for (const range of ranges)
    for (const type of ['integer', 'number'])
      for (const seed of [1, 2, 3]) {
        const response_format = formatOf(object({ count: { type, ...range } }))
        const { count } = JSON.parse(textOf(await ask(engine, 'Plan a trip.', { response_format, seed })))
        assert.ok(count >= 0 && count <= 200, `${JSON.stringify(range)}: ${count}`)
      }
})

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
      type: 'array',
      items: { type: ['integer', 'string'] },
      minItems: 3,
      contains: { type: 'integer', minimum: 2 },
    },
    'a record with names of a length': {
      type: 'object',
      propertyNames: { type: 'string', minLength: 3 },
      minProperties: 2,
      additionalProperties: { type: 'number' },
    },
    'lists and records described twice': {
      type: 'object',
      required: ['rows', 'more'],
      additionalProperties: { type: 'integer' },
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
      $defs: { sum: object({ left: { $ref: '#' }, right: { $ref: '#' } }), number: { type: 'number' } },
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
