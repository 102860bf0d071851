import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sandboxChat } from '../../../../server/engines/chat/sandbox/adapter.ts'
import { effortOf } from '../../../support/processor-time.ts'
import { ask } from './ask.ts'

const engine = sandboxChat({ kind: 'sandbox' })
const counted = <T>(length: number, each: (i: number) => T) => Array.from({ length }, (_, i) => each(i))
const numbers = (length: number) => counted(length, (i) => i)
const members = (length: number, value: unknown) => Object.fromEntries(counted(length, (i) => [`k${i}`, value]))
const list = (items: unknown) => ({ type: 'array', minItems: 1900, items })
const LONG = 'a'.repeat(50_000)

/** Each is within what a client may send, and cost between 60 ms and 5 s of one turn. */
const COSTLY: Record<string, Record<string, unknown>> = {
  'a list of one option of thousands': list({ enum: numbers(11_000) }),
  'long texts': list({ type: 'string', minLength: 4096 }),
  'long texts that differ': { ...list({ type: 'string', minLength: 4096 }), uniqueItems: true },
  'thousands of alternatives of which one may fit': {
    type: 'object',
    minProperties: 500,
    oneOf: [{ type: 'object' }, ...counted(9000, () => ({}))],
  },
  'alternatives whose members need thousands of others': {
    type: 'object',
    minProperties: 499,
    additionalProperties: { type: 'object' },
    oneOf: [{ type: 'object' }, { additionalProperties: { dependentRequired: members(3500, []) } }],
  },
  'many items that may hold one of thousands': {
    ...list({ type: 'string' }),
    contains: { enum: numbers(11_000) },
    minContains: 0,
  },
  'a thousand conditions on what a long list holds': {
    ...list({ type: 'string' }),
    allOf: counted(1000, () => ({ contains: { type: 'null' }, minContains: 0 })),
  },
  'objects whose members need thousands of others': {
    ...list({ type: 'object', minProperties: 2, dependentRequired: members(4000, []) }),
    minItems: 600,
  },
  'references that double, to a schema of thousands of keywords': {
    $ref: '#/$defs/a0',
    $defs: {
      ...Object.fromEntries(
        counted(13, (i) => [`a${i}`, { allOf: counted(2, () => ({ $ref: `#/$defs/a${i + 1}` })) }]),
      ),
      a13: { $ref: '#/$defs/big' },
      big: members(2500, 1),
    },
  },
  'numbers that are none of thousands': list({
    type: 'number',
    multipleOf: 0.0001,
    minimum: 3,
    maximum: 4,
    not: { enum: numbers(11_000) },
  }),
  'one long constant many times': list({ const: LONG }),
  'one long name of a member many times': list({ type: 'object', required: [LONG] }),
  'texts in a member of a long name': {
    type: 'object',
    properties: { [LONG.slice(0, 30_000)]: list({ type: 'string' }) },
    required: [LONG.slice(0, 30_000)],
  },
  'many long patterns': {
    anyOf: counted(60, (i) => ({ type: 'string', maxLength: 0, pattern: `${'a|'.repeat(480)}${i}` })),
  },
}

for (const [name, schema] of Object.entries(COSTLY)) {
  test(`no turn takes 50 ms of processor time, and not 3 s in all, for a schema of ${name}`, async () => {
    const response_format = { type: 'json_schema' as const, json_schema: { name: 'a', schema, strict: true } }
    const work = () => ask(engine, 'Answer me.', { response_format }).catch(() => null)
    const { milliseconds, seconds } = await effortOf(work, { milliseconds: 50, seconds: 3 })
    assert.ok(milliseconds < 50, `${milliseconds} ms`)
    assert.ok(seconds < 3, `${seconds} s`)
  })
}
