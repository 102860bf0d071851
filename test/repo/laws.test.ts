import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCorpus, seedsOf } from '../support/law.ts'
import { sourcesIn } from '../support/sources.ts'

const tests = sourcesIn('server', 'console', 'test', 'bench').filter(({ path }) => path !== 'test/repo/laws.test.ts')

test('every random test takes the seed of its law', () => {
  const wrong = tests.flatMap(({ path, text }) => [
    ...callsOf(text, 'fc.assert(')
      .filter((call) => !/\bseed\b/.test(call))
      .map((call) => `${path}: no seed: ${call.slice(0, 60)}`),
    ...[...text.matchAll(/process\.env\.(?:TEST_)?SEED\b/g)].map(([match]) => `${path}: ${match}`),
    ...[...text.matchAll(/\bseed\b.*(?:Math\.random|Date\.now|randomBytes).*/gi)]
      .filter(() => path !== 'test/support/law.ts')
      .map(([line]) => `${path}: a seed of its own: ${line}`),
  ])
  assert.deepEqual(wrong, [])
})

test('a law has the same seed in every run, its own, and the seeds of the corpus after it', () => {
  const [first, ...found] = seedsOf('a', { corpus: { a: [7, 8], b: [9] }, wanted: '' })
  assert.deepEqual(seedsOf('a', { corpus: {}, wanted: '' }), [first])
  assert.notEqual(seedsOf('b', { corpus: {}, wanted: '' })[0]!.seed, first!.seed)
  assert.deepEqual(found, [
    { seed: 7, origin: 'corpus' },
    { seed: 8, origin: 'corpus' },
  ])
})

test('KINORA_SEED=random draws a seed beside those of the corpus, a number is tried alone, anything else is refused', () => {
  const corpus = { a: [7] }
  const drawn = Array.from({ length: 5 }, () => seedsOf('a', { corpus, wanted: 'random' }))
  assert.ok(new Set(drawn.map(([first]) => first!.seed)).size > 1)
  for (const [first, ...found] of drawn) {
    assert.equal(first!.origin, 'drawn')
    assert.deepEqual(found, [{ seed: 7, origin: 'corpus' }])
  }
  assert.deepEqual(seedsOf('a', { corpus, wanted: '42' }), [{ seed: 42, origin: 'given' }])
  for (const wanted of ['x', '-1', '1.5', '2147483648'])
    assert.throws(() => seedsOf('a', { corpus, wanted }), /KINORA_SEED/)
})

test('every title of the corpus is a law, and every seed is one', () => {
  const titles = new Set(
    tests.flatMap(({ text }) => [...text.matchAll(/\blaw\(\s*(['"])(.+?)\1,/g)].map(([, , title]) => title!)),
  )
  assert.ok(titles.size > 20)
  const corpus = readCorpus()
  assert.deepEqual(
    Object.keys(corpus).filter((title) => !titles.has(title)),
    [],
  )
  for (const seed of Object.values(corpus).flat()) assert.ok(Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31)
})

/** The text of every call, from its name to the parenthesis that closes it. */
function callsOf(text: string, name: string): string[] {
  const calls: string[] = []
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    let [end, open] = [at + name.length, 1]
    for (; open > 0 && end < text.length; end++) open += text[end] === '(' ? 1 : text[end] === ')' ? -1 : 0
    calls.push(text.slice(at, end))
  }
  return calls
}
