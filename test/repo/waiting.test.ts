import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sourcesIn } from '../support/sources.ts'

test('a test waits for a fact, in a loop or by an event, and never for a time', () => {
  const wrong = sourcesIn('test').flatMap(({ path, lines }) =>
    waitsIn(lines)
      .filter(({ loop }) => !loop)
      .map(({ line }) => `${path}:${line}`),
  )
  assert.deepEqual(
    wrong.filter((place) => !place.startsWith('test/repo/waiting.test.ts')),
    [],
  )
})

test('no test needs another one to have run before it', () => {
  const wrong = sourcesIn('test').flatMap(({ path, lines }) =>
    lines.flatMap((line, index) => (/^\s*test\(['"`]the audit is clean/.test(line) ? [`${path}:${index + 1}`] : [])),
  )
  assert.deepEqual(
    wrong.filter((place) => !place.startsWith('test/repo/waiting.test.ts')),
    [],
  )
})

test('the check distinguishes a wait in a loop from a sleep', () => {
  const found = waitsIn([
    'while (!done) {',
    '  await pause(5)',
    '}',
    'await sleep(100)',
    'for (const pid of pids) while (isAlive(pid)) await pause(20)',
    'await Promise.race([ended, pause(1000)])',
  ])
  assert.deepEqual(
    found.map(({ line, loop }) => [line, loop]),
    [
      [2, true],
      [4, false],
      [5, true],
    ],
  )
})

/** Waits of a fixed time that a test awaits, and whether a loop around each looks for a fact. A deadline in a race is none. */
function waitsIn(lines: readonly string[]): Array<{ line: number; loop: boolean }> {
  const indentOf = (text: string) => /^ */.exec(text)![0].length
  return lines.flatMap((text, index) => {
    if (!/\bawait (new Promise.*setTimeout|pause|sleep)\(/.test(text) || /^\s*(\/\/|\*)/.test(text)) return []
    const loop = /\b(while|for) \(/
    const around = lines
      .slice(Math.max(0, index - 12), index)
      .filter((above) => indentOf(above) < indentOf(text) && loop.test(above))
    return [{ line: index + 1, loop: loop.test(text) || around.length > 0 }]
  })
}
