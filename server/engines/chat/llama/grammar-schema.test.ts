import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grammarSchema } from './grammar-schema.ts'

const strict = (schema: unknown) => grammarSchema(schema, 'schema', { loose: false })
const loose = (schema: unknown) => grammarSchema(schema, 'schema', { loose: true })

function refused(schema: unknown): string {
  try {
    strict(schema)
  } catch (error) {
    return (error as { public_message: string }).public_message
  }
  return assert.fail('it was accepted')
}

test('what a grammar can say is kept, notes are left out, anyOf becomes oneOf', () => {
  const schema = {
    title: 'Order',
    type: 'object',
    properties: {
      id: { type: 'integer', description: 'of the order' },
      note: { anyOf: [{ type: 'string', maxLength: 20 }, { type: 'null' }] },
      kind: { type: 'string', enum: ['a', 'b'] },
      on: { type: 'string', format: 'date' },
      lines: { type: 'array', items: { $ref: '#/$defs/line' }, minItems: 1, maxItems: 3 },
    },
    required: ['id'],
    additionalProperties: false,
    $defs: { line: { const: 1 } },
  }
  assert.deepEqual(strict(schema), {
    type: 'object',
    properties: {
      id: { type: 'integer' },
      note: { oneOf: [{ type: 'string', maxLength: 20 }, { type: 'null' }] },
      kind: { enum: ['a', 'b'] },
      on: { type: 'string', format: 'date' },
      lines: { type: 'array', items: { $ref: '#/$defs/line' }, minItems: 1, maxItems: 3 },
    },
    $defs: { line: { const: 1 } },
  })
})

test('several types, and none, become the choices that they mean', () => {
  assert.deepEqual(strict({ type: ['string', 'null'], maxLength: 3 }), {
    oneOf: [{ type: 'string', maxLength: 3 }, { type: 'null' }],
  })
  assert.deepEqual(strict({ properties: { a: { type: 'null' } } }), {
    type: 'object',
    properties: { a: { type: 'null' } },
  })
  assert.deepEqual(strict({}), strict(true))
  assert.deepEqual(strict({ type: 'object' }), { type: 'object', properties: {}, additionalProperties: true })
})

test('what a grammar cannot say is refused by its path', () => {
  const inside = (schema: object) => ({ type: 'object', properties: { a: schema } })
  assert.match(refused(inside({ type: 'string', pattern: '^a' })), /^schema\.properties\.a\.pattern: /)
  assert.match(refused(inside({ type: 'number', minimum: 1 })), /^schema\.properties\.a\.minimum: /)
  assert.match(refused({ allOf: [{ type: 'object' }] }), /^schema\.allOf: /)
  assert.match(refused({ oneOf: [{ not: {} }] }), /^schema\.oneOf\[0\]\.not: /)
  assert.match(refused({ type: 'string', format: 'email' }), /^schema\.format: /)
  assert.match(refused({ type: 'array', maxItems: 100_000 }), /^schema\.maxItems: /)
  assert.match(refused({ type: 'string', maxLength: -1 }), /^schema\.maxLength: /)
  assert.match(refused({ $ref: 'other.json' }), /^schema\.\$ref: /)
  assert.match(refused({ enum: [{ a: 1 }] }), /^schema\.enum: /)
  assert.match(refused({ type: 'object', required: ['a'] }), /^schema\.required: /)
  assert.match(refused(false), /^schema: /)
})

test('a loose schema keeps what can be said and allows anything for the rest', () => {
  assert.deepEqual(loose({ type: 'object', properties: { a: { type: 'number', minimum: 1, maximum: 9 } } }), {
    type: 'object',
    properties: { a: { type: 'number' } },
  })
  assert.deepEqual(loose({ type: 'string', format: 'email', maxLength: 9 }), { type: 'string', maxLength: 9 })
  assert.deepEqual(loose({ $ref: 'other.json' }), strict(true))
})

test('a schema is refused when it is nested too deep or has too many parts, loose or not', () => {
  let deep: object = { type: 'null' }
  for (let i = 0; i < 40; i++) deep = { type: 'array', items: deep }
  assert.throws(() => loose(deep), { kind: 'rejected' })
  const wide = { oneOf: Array.from({ length: 600 }, () => ({ type: 'null' })) }
  assert.throws(() => loose(wide), { kind: 'rejected' })
})
