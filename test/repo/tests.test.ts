import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCorpus, seedsOf } from '../support/law.ts'
import { sourcesIn } from '../support/sources.ts'

const tests = sourcesIn('server', 'console', 'test', 'bench').filter(({ path }) => path !== 'test/repo/tests.test.ts')

test('a test waits for a fact, in a loop or by an event, and never for a time', () => {
  const wrong = tests
    .filter(({ path }) => path.startsWith('test/'))
    .flatMap(({ path, lines }) =>
      lines.flatMap((line, index) => (isSleep(line, lines.slice(0, index)) ? [`${path}:${index + 1}`] : [])),
    )
  assert.deepEqual(wrong, [])
})

test('every random test takes the seed of its law', () => {
  const wrong = tests.flatMap(({ path, text }) => [
    ...callsOf(text, 'fc.assert(')
      .filter((call) => !/\bseed\b/.test(call))
      .map((call) => `${path}: no seed: ${call.slice(0, 60)}`),
    ...[...text.matchAll(/\bseed\b.*(?:Math\.random|Date\.now|randomBytes).*/gi)]
      .filter(() => path !== 'test/support/law.ts')
      .map(([line]) => `${path}: a seed of its own: ${line}`),
  ])
  assert.deepEqual(wrong, [])
})

test('a law runs with one seed of its own in every run, and with those of the corpus', () => {
  const [first, ...found] = seedsOf('a', { corpus: { a: [7, 8], b: [9] }, wanted: '' })
  assert.deepEqual(seedsOf('a', { corpus: {}, wanted: '' }), [first])
  assert.notEqual(seedsOf('b', { corpus: {}, wanted: '' })[0]!.seed, first!.seed)
  assert.deepEqual(
    found.map(({ seed }) => seed),
    [7, 8],
  )
})

test('every title of the corpus is a law, and every seed is one', () => {
  const laws = tests.flatMap(({ text }) => [...text.matchAll(/\blaw\(\s*(['"])(.+?)\1,/g)])
  const titles = new Set(laws.map(([, , title]) => title!))
  assert.ok(titles.size > 20)
  const corpus = readCorpus()
  assert.deepEqual(
    Object.keys(corpus).filter((title) => !titles.has(title)),
    [],
  )
  for (const seed of Object.values(corpus).flat()) assert.ok(Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31)
})

/** Whether a line awaits a fixed time, with no loop around it that looks for a fact. A deadline in a race is no sleep. */
function isSleep(line: string, above: readonly string[]): boolean {
  if (!/\bawait (new Promise.*setTimeout|pause|sleep)\(/.test(line) || /^\s*(\/\/|\*)/.test(line)) return false
  const loop = /\b(while|for) \(/
  const indentOf = (text: string) => /^ */.exec(text)![0].length
  const around = above.slice(-12).some((outer) => indentOf(outer) < indentOf(line) && loop.test(outer))
  return !loop.test(line) && !around
}

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
