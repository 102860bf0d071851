import assert from 'node:assert/strict'
import { test } from 'node:test'
import { titleOf } from './title.ts'

test('a title is the beginning of the message in one line, without the marks of Markdown', () => {
  for (const [text, title] of [
    ['# Plan\n\n**Write** a `hello.ts` that *runs*', 'Plan Write a hello.ts that runs'],
    ['これは**重要**です。`npm ci` を実行', 'これは重要です。npm ci を実行'],
    ['> Quoted\n- one\n* two', 'Quoted one two'],
    ['```ts\nconst x = 1\n```\nWhy?', 'const x = 1 Why?'],
    ['See [the docs](https://example.com/a) and ~~not~~ ***this***', 'See the docs and not this'],
    [`**${'あ'.repeat(100)}**`, `${'あ'.repeat(79)}…`],
    ['**bold', '**bold'],
    ['#', '#'],
    ['', ''],
  ] as const)
    assert.equal(titleOf(text), title, text)
})

test('what only looks like Markdown stays', () => {
  for (const text of [
    '2 * 3 * 4 and 2**3**4',
    'snake_case_name and __init__.py',
    '#1 is C#',
    'a ~ b',
    '5 > 3',
    'f(x)[0](1)',
  ])
    assert.equal(titleOf(text), text)
})

test('a long line of marks takes no longer than it is long', () => {
  const marks = ['*', '_', '`', '[', '# ', '~~'].map((mark) => mark.repeat(50_000))
  const begun = performance.now()
  for (const text of marks) titleOf(text)
  assert.ok(performance.now() - begun < 1000)
})
