import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createContext, runInContext } from 'node:vm'
import fc from 'fast-check'
import { readPattern, textMatching } from '../../../../server/engines/chat/sandbox/schema/pattern.ts'
import { law } from '../../../support/law.ts'
import { effortOf } from '../../../support/processor-time.ts'

const { source: anySource } = fc.letrec<{ source: string }>((tie) => ({
  source: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(
      'a',
      '[a-f]',
      '[^\\d\\s]',
      '\\d',
      '\\w',
      '.',
      '\\.',
      '-',
      '\\u3042',
      '[ぁ-ん]',
      '\\p{Lu}',
      '\\/',
      '[\\]x]',
    ),
    fc
      .tuple(tie('source'), fc.constantFrom('*', '+', '?', '{2}', '{0,3}', '{2,}', '+?'))
      .map(([part, count]) => `(?:${part})${count}`),
    fc.array(tie('source'), { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')),
    fc.array(tie('source'), { minLength: 1, maxLength: 3 }).map((branches) => `(${branches.join('|')})`),
  ),
}))

law('a text written for a pattern is matched by RegExp', async (seed) => {
  fc.assert(
    fc.property(anySource, fc.nat(3), fc.array(fc.nat(), { minLength: 5, maxLength: 5 }), (source, growth, numbers) => {
      const pattern = readPattern(`^${source}$`)
      assert.ok(pattern !== null, source)
      let drawn = 0
      const text = textMatching(pattern, growth, (count) => numbers[drawn++ % 5]! % count)
      assert.ok(text === null || isMatch(`^${source}$`, text), `${source}: ${JSON.stringify(text)}`)
    }),
    { seed, numRuns: 500 },
  )
})

const COMMON = {
  'a code': '^[A-Z]{2}-\\d{4}$',
  'a handle': '^@[a-zA-Z0-9_]+$',
  'a slug': '^[a-z0-9]+(?:-[a-z0-9]+)*$',
  'an address': '^[\\w.+-]+@([\\w-]+\\.)+[a-z]{2,}$',
  'a phone number': '^(\\([0-9]{3}\\))?[0-9]{3}-[0-9]{4}$',
  'a date with names': '^(?<year>\\d{4})-(?<month>0[1-9]|1[0-2])$',
  'an escape that only older engines take': '^\\d{3}\\-\\d{4}$',
  'a version': '^v?(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)$',
  kana: '^[ぁ-んァ-ヶ]{2,8}$',
  'something unanchored': 'cat|dog',
}

for (const [what, source] of Object.entries(COMMON)) {
  test(`writes ${what}`, () => {
    const pattern = readPattern(source)!
    for (const number of [0, 3, 7]) {
      const text = textMatching(pattern, 2, (count) => number % count)!
      assert.ok(isMatch(source, text), text)
    }
  })
}

test('a pattern whose search would not end is written as soon as any other', async () => {
  for (const source of ['^(a+)+$', '^(a|aa)+$', '(?:a*)*b', 'a*a*a*a*a*a*b', '^(?:(?:a?){50}){50}$', '(.*){9}b']) {
    const work = () => textMatching(readPattern(source)!, 233, () => 0)
    const { seconds } = await effortOf(work, { seconds: 2 })
    assert.ok(seconds < 2, `${source}: ${seconds} s`)
  }
})

test('look-around, back references, word boundaries, anchors in the middle and invalid expressions are not supported', () => {
  for (const source of [
    '(?=a)a',
    '(?!a)b',
    '(?<=a)b',
    '(?<!a)b',
    '(a)\\1',
    '(?<n>a)\\k<n>',
    '\\ba',
    '(^a|b$)',
    'a^b',
    'a$b',
    '(',
    '[z-a]',
    'a'.repeat(1001),
  ])
    assert.equal(readPattern(source), null, source)
})

/** By RegExp. A search that takes longer than this test has says nothing. */
function isMatch(source: string, text: string): boolean {
  const find = '(() => { try { return new RegExp(source, "u") } catch { return new RegExp(source) } })().test(text)'
  try {
    return runInContext(find, createContext({ source, text }), { timeout: 1000 }) as boolean
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return true
    throw error
  }
}
