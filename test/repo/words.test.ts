import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textFiles } from '../support/sources.ts'

/**
 * Words that stood in this repository for things the field has a word for, and what to write in their place. Matched as whole words, and
 * as words within a name, so `tell` is found in `tellAll` and in `tell_all`.
 * Source: CONTRIBUTING.md, Plain English.
 */
const BANNED: ReadonlyArray<readonly [RegExp, string]> = [
  [/^(tell|tells|telling|told)$/, 'emit, announce, report, notify, return'],
  [/^(stranger|strangers)$/, 'caller without access, another organization'],
  [/^(impatient|impatience)$/, 'expired, over its deadline'],
  [/^(apart)$/, 'separate, bisect'],
  [/^(distrust|distrusts)$/, 'invalid, rejected'],
  [/^(crowd|crowds)$/, 'many organizations, clients'],
  [/^(goodbye|goodbyes)$/, 'close frame, closing message'],
  [/^(impostor|culprit|newcomer's)$/, 'the plain noun'],
  [
    /^(colours?|neighbours?|behaviours?|favourites?|centred|(un)?(recogn|organ|author)is(e|es|ed|ing))$/,
    'American spelling',
  ],
]
const PHRASES: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bsaid\(|[a-z]Said\b|\bsaying\(/, 'text, delta, output'],
  [/\b(hand(s|ed|ing)?[ -]?back|hand[A-Z]Back)\b|\bhandBack/, 'release, return'],
  [/\b(let|lets|letting) go\b|\bletGo/, 'release, drop'],
  [/\btak(e|es|ing|en)[ -]over\b|\btook over\b|\btakeOver/, 'reclaim'],
  [/\bcomes? home\b|\bbrings? .{0,30}\bhome\b/, 'download, store'],
  [/\bin the making\b/, 'processing, in progress'],
  [/\bof its own (accord|wish)\b|\bno wish\b/, 'by default'],
]
/** Files whose subject is such a word. */
const ALLOWED = new Set(['test/repo/words.test.ts', 'CONTRIBUTING.md', 'CHANGELOG.md', 'package-lock.json'])

test('names, comments, messages and documents are in plain English', () => {
  const wrong = textFiles()
    .filter(({ path }) => !ALLOWED.has(path) && !/\/corpus\/|^server\/migrations\//.test(path))
    .flatMap(({ path, lines }) =>
      lines.flatMap((line, index) => bannedIn(line).map((what) => `${path}:${index + 1}: ${what}`)),
    )
  assert.equal(wrong.length, 0, `\n  ${wrong.join('\n  ')}\n`)
})

test('the check sees a word in prose, in a name and at its parts, and nothing in a longer word', () => {
  assert.deepEqual(
    ['It tells them.', 'tellAll()', 'x.told_ids', 'ItemsTold', 'it letGo()', 'the handed-back row'].map(
      (line) => bannedIn(line).length,
    ),
    [1, 1, 1, 1, 1, 1],
  )
  assert.deepEqual(bannedIn('an intelligent, apartment-sized storytelling handbook'), [])
})

function bannedIn(line: string): string[] {
  // A prompt may ask a model to tell something.
  const words = line.replaceAll(/\b[Tt]ell me\b/g, '').match(/[A-Za-z][a-z']*|[A-Z]+(?![a-z])/g) ?? []
  return [
    ...words.flatMap((word) =>
      BANNED.filter(([banned]) => banned.test(word.toLowerCase())).map(([, instead]) => `"${word}": ${instead}`),
    ),
    ...PHRASES.flatMap(([phrase, instead]) => {
      const found = phrase.exec(line)
      return found ? [`"${found[0]}": ${instead}`] : []
    }),
  ]
}
