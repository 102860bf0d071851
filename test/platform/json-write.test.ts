import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JSON_MEMBERS_MAX } from '../../server/platform/json/scan.ts'
import { writeJson, writeLarge } from '../../server/platform/json/write.ts'
import { longestTurn } from '../support/processor-time.ts'

const LONG = 'x'.repeat(70_000)

test('law: what is written in pieces is what JSON.stringify writes, down to names like __proto__ and half characters', async () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(LONG, `${'\u{1F3AC}'.repeat(40_000)}"\ud800`, '__proto__'),
  )
  const { tree } = fc.letrec((tie) => ({
    leaf: fc.oneof(text, fc.double(), fc.constantFrom(null, true, undefined)),
    tree: fc.oneof({ depthSize: 'small' }, tie('leaf'), fc.array(tie('tree')), fc.dictionary(text, tie('tree'))),
  }))
  await fc.assert(
    fc.asyncProperty(tree, async (value) => {
      const wanted = JSON.stringify({ a: value, b: [value] })
      const whole = await writeJson({ a: value, b: [value] })
      assert.ok((typeof whole === 'string' ? whole : Buffer.concat(whole).toString()) === wanted)
      assert.ok(Buffer.concat(await writeLarge({ a: value, b: [value] })).toString() === wanted)
    }),
    { numRuns: 30, seed: 9 },
  )
})

const WORST: Record<string, () => object> = {
  'one text': () => ({ a: 'x'.repeat(64 * 1024 * 1024) }),
  'many texts': () => Array.from({ length: 100_000 }, () => 'x'.repeat(600)),
  'many members': () =>
    Array.from({ length: 4 }, () =>
      Object.fromEntries(Array.from({ length: JSON_MEMBERS_MAX }, (_, i) => [`k${i}`, { a: i }])),
    ),
}

test('no turn of the event loop takes 50 ms of processor time to write 30 values that arrive together', async () => {
  const value = { data: Array.from({ length: 100 }, () => '\u{1F3AC}'.repeat(7000)) }
  const milliseconds = await longestTurn(() => Promise.all(Array.from({ length: 30 }, () => writeJson(value))))
  assert.ok(milliseconds < 50, `${milliseconds} ms`)
})

for (const [name, make] of Object.entries(WORST)) {
  test(`no turn of the event loop takes 50 ms of processor time to write ${name}`, async () => {
    const value = make()
    const milliseconds = await longestTurn(() => writeJson(value))
    assert.ok(milliseconds < 50, `${milliseconds} ms`)
  })
}
