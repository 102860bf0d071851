import assert from 'node:assert/strict'
import { test } from 'node:test'
import ja from '../../console/text/ja.ts'
import { filesMatching, sourcesIn, textFiles } from '../support/sources.ts'

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
  [/^(anew)$/, 'again'],
  [/^(mend|mends|mended)$/, 'fix'],
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
  [/\b(gives?|gave|giving) way\b/, 'yield'],
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

/** Values, marks of dialogue and links: what stands for something else. */
const MARKS = /\{\{[^}]*\}\}|<\/?[a-z]+>/g
/** Code as it is typed. */
const QUOTED_CODE = /“[^”]*”|"[^"]*"(: "[^"]*")?/g
/** Part of a number, a ratio or a name, such as `16:9` or `kinora.yaml`. */
const INSIDE_A_WORD = /(?<=[\w/])[.,:](?=[\w/])/g

test('the glossary is in order, each word once, and every word of it is used', () => {
  const [glossary] = filesMatching(['docs/glossary.md'])
  const entries = [...glossary!.text.matchAll(/^\| ([^|]+) \| [^|]/gm)]
    .map(([, entry]) => entry!.trim())
    .filter((entry) => entry !== 'Word' && !/^-+$/.test(entry))
  assert.ok(entries.length > 20)
  assert.deepEqual(
    entries,
    [...new Set(entries)].sort((a, b) => a.localeCompare(b, 'en', { sensitivity: 'base' })),
  )
  const documents = filesMatching(['docs/**/*.md', '*.md']).filter(({ path }) => path !== 'docs/glossary.md')
  const texts = [...sourcesIn('server', 'console'), ...documents].map(({ text }) => text.toLowerCase())
  const unused = entries.filter((entry) => {
    const word = entry.replace(/ \(.*| *,.*/g, '').toLowerCase()
    return !texts.some((text) => text.includes(word) || text.includes(word.replaceAll(/[ -]/g, '_')))
  })
  assert.deepEqual(unused, [])
})

test('a text that others may have written is ended by asSentence, which adds no second full stop', () => {
  const wrong = sourcesIn('server').flatMap(({ path, lines }) =>
    lines.flatMap((line, index) => (/\$\{([\w.]+\.)?(message|reason)\}\./.test(line) ? [`${path}:${index + 1}`] : [])),
  )
  assert.deepEqual(wrong, [])
})

test('Japanese sentences are punctuated in full width', () => {
  const wrong: string[] = []
  const visit = (value: object, path: string) => {
    for (const [name, inner] of Object.entries(value)) {
      const own = path === '' ? name : `${path}.${name}`
      if (typeof inner !== 'string') visit(inner as object, own)
      // English on purpose, where prompts cannot be translated.
      else if (name !== 'prompt_in_english' && halfWidth(inner).length > 0) wrong.push(`${own}: ${inner}`)
    }
  }
  visit(ja, '')
  assert.deepEqual(wrong, [])
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

/** Half-width punctuation that the sentence itself is written with; a text without a Japanese letter has no sentence. */
function halfWidth(text: string): string[] {
  if (!/[ぁ-ゟァ-ヿ一-鿿]/.test(text)) return []
  const sentence = text.replaceAll(MARKS, '').replaceAll(QUOTED_CODE, '').replaceAll(INSIDE_A_WORD, '')
  return sentence.match(/[,.:;!?()｡､]/g) ?? []
}
