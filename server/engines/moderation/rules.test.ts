import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { law } from '../../../test/support/law.ts'
import { effortOf } from '../../../test/support/processor-time.ts'
import { takingTurnsAs } from '../../platform/turns.ts'
import { EngineError } from '../engine-error.ts'
import { engineMistakes } from '../registry.ts'
import { type RulesOptions, rulesMistakes, rulesModeration } from './rules.ts'

const NEVER = new AbortController().signal
const judge = async (deny: RulesOptions['deny'], text: string) => {
  const engine = rulesModeration({ kind: 'rules', ...(deny ? { deny } : {}) })
  try {
    return await engine.moderate({ text, image: null, purpose: 'video_prompt' }, NEVER)
  } finally {
    await engine.close!()
  }
}

test('an empty list allows everything', async () => {
  assert.equal((await judge(undefined, 'anything')).verdict, 'allow')
})

test('a term is found in any case, width, spacing and kana, and with invisible characters inside', async () => {
  for (const text of [
    'A FORBIDDEN phrase.',
    'a forbidden   \n phrase',
    'a ｆｏｒｂｉｄｄｅｎ　ｐｈｒａｓｅ',
    'a for\u200bbid\u00adden\u2060 phr\ufe0fase',
    'a 𝔣𝔬𝔯𝔟𝔦𝔡𝔡𝔢𝔫 phrase',
    '<d>forbidden phrase</d>',
    'forbid<d>den phrase</d>',
    'forbidden<d>phrase</d>',
  ])
    assert.equal((await judge(['Forbidden Phrase'], text)).verdict, 'block', text)
  for (const text of ['バクダン', 'ﾊﾞｸﾀﾞﾝ', 'ばくだん', 'バく\u200dダん'])
    assert.equal((await judge(['ばくダン'], text)).verdict, 'block', text)
  assert.equal((await judge(['Forbidden Phrase'], 'a forbidding phase')).verdict, 'allow')
})

test('combining marks by the thousand on one character take no time, and hide no term', async () => {
  const engine = rulesModeration({ kind: 'rules', deny: ['phrase'] })
  const judge = (text: string) =>
    engine.moderate({ text, image: null, purpose: 'video_prompt' }, new AbortController().signal)
  const marks = '\u0f73\u0344'.repeat(3500)
  const { seconds } = await effortOf(() => judge(`a${marks}`), { seconds: 0.05 })
  assert.ok(seconds < 0.05, `${seconds} s`)
  assert.equal((await judge(`a${marks}phrase`)).verdict, 'block')
})

test('a pattern is tried on the text as written and on its folded form, and remembers nothing between calls', async () => {
  const engine = rulesModeration({ kind: 'rules', deny: ['/kill(s|ing)? (him|her)/i', '/[ァ-ヴ]{5,}/'] })
  const verdict = async (text: string) =>
    (await engine.moderate({ text, image: null, purpose: 'video_prompt' }, new AbortController().signal)).verdict
  for (let i = 0; i < 3; i++) {
    assert.equal(await verdict('She KILLS HIM'), 'block')
    assert.equal(await verdict('ｋｉｌｌ　him'), 'block')
    assert.equal(await verdict('アイウエオカ'), 'block')
    assert.equal(await verdict('She skills him'), 'block')
    assert.equal(await verdict('a cat'), 'allow')
  }
})

test('a pattern that runs away is a fault, not an allow', async () => {
  await assert.rejects(
    judge(['/^(a+)+$/'], `${'a'.repeat(40)}!`),
    (error) => error instanceof EngineError && error.kind === 'transient',
  )
})

test('while a pattern runs away other work goes on, and another organization is judged after one search of its owner', async () => {
  const engine = rulesModeration({ kind: 'rules', deny: ['/^(a+)+$/', '/bomb/'] })
  const ask = (owner: string, text: string) =>
    takingTurnsAs(owner, () => engine.moderate({ text, image: null, purpose: 'video_prompt' }, NEVER))
  assert.equal((await ask('other', 'a cat')).verdict, 'allow')
  const order: string[] = []
  const hostile = [1, 2, 3].map(() =>
    assert.rejects(ask('hostile', `${'a'.repeat(40)}!`)).finally(() => order.push('hostile')),
  )
  const judged = ask('other', 'a bomb').finally(() => order.push('other'))
  let turns = 0
  while (order.length === 0) {
    turns += 1
    await new Promise(setImmediate)
  }
  assert.ok(turns > 10, `${turns} turns of the event loop`)
  assert.equal((await judged).verdict, 'block')
  assert.deepEqual(order, ['hostile', 'other'])
  await Promise.all(hostile)
  await engine.close!()
})

test('the categories that were hit are named, and the version changes with the list', async () => {
  const deny = { violence: ['kill'], weapons: ['/bombs?/'] }
  const both = await judge(deny, 'a bomb to kill')
  assert.deepEqual(both.categories, ['violence', 'weapons'])
  assert.notEqual(both.version, (await judge({ violence: ['kill'] }, 'x')).version)
  assert.equal(both.version, (await judge(deny, 'x')).version)
})

test('mistakes in the list are found before it is used', () => {
  const paths = rulesMistakes({ kind: 'rules', deny: ['ok', ' ', '/(/', '/x/g', '/x*/', '\u200b'] }).map(
    ({ path }) => path,
  )
  assert.deepEqual(paths, ['deny.1', 'deny.2', 'deny.3', 'deny.4', 'deny.5'])
  assert.equal(engineMistakes('moderation', { kind: 'rules', deny: { a: ['/(/'] } })[0]?.path, 'deny.a.0')
  assert.deepEqual(engineMistakes('moderation', 'rules'), [])
})

law('a term is found anywhere in a text, also when invisible characters separate its letters', async (seed) => {
  const engine = rulesModeration({ kind: 'rules', deny: ['禁止 phrase'] })
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('', '\u200b', '\u2060\ufeff'),
      async (before, after, gap) => {
        const text = `${before} ${[...'禁止 PHRASE'].join(gap)} ${after}`
        const { verdict } = await engine.moderate(
          { text, image: null, purpose: 'video_prompt' },
          new AbortController().signal,
        )
        assert.equal(verdict, 'block')
      },
    ),
    { seed, numRuns: 300 },
  )
})
