import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { filesMatching, ROOT, type Source, sourcesIn } from '../support/sources.ts'

const FEATURES = /^server\/(?!platform\/|media\/|cli\/|api-docs\/|config\/)/
const features = sourcesIn('server').filter(({ path }) => FEATURES.test(path) && !path.endsWith('.test.ts'))
const entries = [...readFileSync(join(ROOT, 'docs/glossary.md'), 'utf8').matchAll(/^\| ([^|]+) \| [^|]/gm)]
  .map(([, entry]) => entry!.trim())
  .filter((entry) => entry !== 'Word' && !/^-+$/.test(entry))

/** Words of programming, HTTP and plain English that mean here what they mean everywhere. A word of this product goes into the glossary. */
const ORDINARY = new Set(
  `
    action admit ahead allowed answer app applied ark ask asked aspect assemble assembled asset auth
    authenticate authenticator authorization base begin bergamot billing binding body budget buffer byte cache
    cached call caller cancel caption cell chance change changed charged chat check checked child choice claimed
    client clip clue collect column comfyui compact compacted completion compose configured connect console
    content contract conversation cookie count create csrf csv custom data decoder deliver dep detect disabled
    drafted draw due each echoed effort email emit encode encrypted end endpoint env error exact exchange export
    fact factory failure fal fault fetch field file filename filter final finish finished first fit fitting fixed
    follow form format former forwarded from function gate gen given grouping guard guarded hashed head header
    health history holder http id image in include inline input instant invitation japanese join json judge
    judgement keyword kind known layer leaf length library limit list listed llama load loaded login logprob
    main make markup mask masked match measured media message method minimax mistake mode moderate money move
    multipart music name named namespace new next none normalize object observe observer oidc omni open openai
    openrouter option order origin other output overflow overlay owner package page pair pairing palette parser
    part path pattern people period pipeline place plain prepare prepared preview pricing process produced
    profile prompt proof provision query queued quoted random rate ratio read reader reason reasoning recorder
    recover redeliver refusal refuse refused registry remembered remote removal replicate reply report request
    required resolve result retention retry role route row rule save scene schedule schema script sdk seal
    seeded sending sent served sglang shared sign site size socket sound source spec spooled sse started state
    still store stored stream submission summary table taken target task term test text thread time timeline
    token tool translate translation truncate two type unsupported upload user value video visual vllm wanted
    warning with word wording work wrapper write writer written
  `
    .trim()
    .split(/\s+/),
)

test('a word in the name of a table, a type or a file of a feature is ordinary or in the glossary', () => {
  const known = new Set(entries.flatMap((entry) => wordsOf(entry)))
  const wrong = features.flatMap((source) =>
    namesOf(source).flatMap((name) =>
      wordsOf(name)
        .filter((word) => !known.has(word) && !ORDINARY.has(word))
        .map((word) => `${source.path}: "${word}" in ${name}`),
    ),
  )
  assert.equal(
    wrong.length,
    0,
    `\n  ${wrong.join('\n  ')}\nPut the word into docs/glossary.md or use one that is there; the name of a product and plain English go into ORDINARY.\n`,
  )
})

test('every ordinary word that is listed occurs in a name and is not in the glossary', () => {
  const used = new Set(features.flatMap((source) => namesOf(source).flatMap(wordsOf)))
  const known = new Set(entries.flatMap((entry) => wordsOf(entry)))
  assert.deepEqual(
    [...ORDINARY].filter((word) => !used.has(word) || known.has(word)),
    [],
  )
})

test('the glossary is in order, each word once, and every word of it is used', () => {
  const sorted = [...entries].sort((a, b) => a.localeCompare(b, 'en', { sensitivity: 'base' }))
  assert.deepEqual(entries, sorted)
  const documents = filesMatching(['docs/**/*.md', '*.md']).filter(({ path }) => path !== 'docs/glossary.md')
  const texts = [...sourcesIn('server', 'console'), ...documents].map(({ text }) => text.toLowerCase())
  const unused = entries.filter((entry) => {
    const word = entry.replace(/ \(.*| *,.*/g, '').toLowerCase()
    return !texts.some((text) => text.includes(word) || text.includes(word.replaceAll(/[ -]/g, '_')))
  })
  assert.deepEqual(unused, [])
})

test('the check splits a name into its words', () => {
  assert.deepEqual(wordsOf('VideoJobRow'), ['video', 'job', 'row'])
  assert.deepEqual(wordsOf('ledger_entries'), ['ledger', 'entry'])
  assert.deepEqual(wordsOf('server/videos/pipeline/write-outcomes.ts'), ['video', 'pipeline', 'write', 'outcome'])
})

function namesOf({ path, text }: Source): string[] {
  const types = [...text.matchAll(/^export type (\w+)/gm)].map(([, name]) => name!)
  const tables = [...(/interface Database \{([^}]*)\}/.exec(text)?.[1] ?? '').matchAll(/^\s*(\w+):/gm)]
  return [path, ...types, ...tables.map(([, name]) => name!)]
}

/** Lower case, singular, of three letters or more; without the folder of the service and the ending of a file. */
function wordsOf(name: string): string[] {
  const spaced = name
    .replace(/^server\/|\.ts$/g, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
  return (spaced.match(/[a-z]{3,}/g) ?? []).map((word) =>
    word
      .replace(/ies$/, 'y')
      .replace(/(ch|sh|x|ss)es$/, '$1')
      .replace(/([^su])s$/, '$1'),
  )
}
