import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineError } from '../../../../server/engines/engine-error.ts'
import { effortOf, longestTurn } from '../../../support/processor-time.ts'
import { ask, textOf } from './ask.ts'
import { accepts, engine, formatOf, object, toolOf } from './schemas.ts'

const MEMBERS = Array.from({ length: 800 }, (_, i) => [`member_${i}`, { $ref: '#' }])

for (const [what, schema] of Object.entries(large())) {
  test(`answers soon and briefly to ${what}`, async () => {
    const answer = () => ask(engine, 'Answer me.', { response_format: formatOf(schema) })
    const text = textOf(await answer())
    assert.ok(accepts(schema, JSON.parse(text)) && text.length < 4_000_000)
    assert.ok((await effortOf(answer, { seconds: 5 })).seconds < 5)
  })
}

for (const [what, { schema, problem }] of Object.entries(refused())) {
  test(`refuses ${what}, soon, naming the schema and the problem`, async () => {
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
      assert.ok((await effortOf(() => ask(engine, 'Answer me.', options), { seconds: 5 })).seconds < 5)
    }
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
