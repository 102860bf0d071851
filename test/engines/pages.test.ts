import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import type { EngineEntry } from '../../server/config/models.ts'
import { readConfigFile } from '../../server/config/read.ts'
import { entryOptions } from '../../server/engines/engine-entry.ts'
import { engineMistakes, engineSchemas } from '../../server/engines/registry.ts'
import { filesMatching } from '../support/sources.ts'

type Family = 'video' | 'chat' | 'moderation' | 'translation'
const FAMILIES: readonly Family[] = ['video', 'chat', 'moderation', 'translation']

/** Kinds without a page of their own, each with its reason. */
const WITHOUT_PAGE: Readonly<Record<string, string>> = {
  'video instant': 'a fake for tests',
  'translation none': 'does nothing, and is the default',
}

const documents = filesMatching(['docs/engines/*.md'])
const pages = documents.filter(({ path }) => basename(path) !== 'README.md')
const table = documents.find(({ path }) => basename(path) === 'README.md')!

test('every page of an engine has one kinora.yaml, which the service would accept', () => {
  assert.ok(pages.length >= 10, `${pages.length} pages`)
  for (const { path, text } of pages) {
    const blocks = yamlBlocks(text)
    assert.equal(blocks.length, 1, `${path} has ${blocks.length} blocks marked yaml`)
    const [block] = blocks
    const env = Object.fromEntries(variablesOf(block!).map((name) => [name, `${name.toLowerCase()}-of-a-test`]))
    const { mistakes } = readConfigFile(block!, { name: path, env, checkEngine: engineMistakes })
    assert.deepEqual(mistakes, [], path)
  }
})

test('every kind of engine is configured on a page', () => {
  const configured = new Set(pages.flatMap(({ text }) => yamlBlocks(text).flatMap(kindsIn)))
  const missing = everyKind().filter((kind) => !configured.has(kind) && !(kind in WITHOUT_PAGE))
  assert.deepEqual(missing, [], 'add docs/engines/<kind>.md with a kinora.yaml that uses it')
  assert.deepEqual(
    Object.keys(WITHOUT_PAGE).filter((kind) => configured.has(kind) || !everyKind().includes(kind)),
    [],
  )
})

test('the table of all engines has a row for each page, with the kinds that the page configures', () => {
  const rows = new Map(
    [...table.text.matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\) \| (.+) \|$/gm)].map(([, page, rest]) => [page!, rest!]),
  )
  const wrong = pages.flatMap(({ path, text }) => {
    const row = rows.get(basename(path))
    const kinds = [...new Set(yamlBlocks(text).flatMap(kindsIn))]
    if (row === undefined) return [`${path}: no row; add one to docs/engines/README.md, for ${kinds.join(' and ')}`]
    const named = kinds.some((kind) => row.startsWith(`${kind.replace(' ', ', `')}\``))
    return named ? [] : [`${path}: the row does not begin with one of ${kinds.join(', ')}`]
  })
  assert.deepEqual(wrong, [])
})

test('every option of every kind is explained in docs/configuration.md, or on a page of the kind', () => {
  const [configuration] = filesMatching(['docs/configuration.md'])
  const wrong = FAMILIES.flatMap((family) =>
    [...engineSchemas(family)].flatMap(([name, schema]) => {
      const own = pages.filter(({ text }) => yamlBlocks(text).flatMap(kindsIn).includes(`${family} ${name}`))
      const text = [configuration!, ...own].map((page) => page.text).join('\n')
      const options = Object.keys((schema as { properties?: object }).properties ?? {}).filter(
        (each) => each !== 'kind',
      )
      return options
        .filter((option) => !new RegExp(`\`${option}[\`:]`).test(text))
        .map((option) => `${family} ${name}: ${option}`)
    }),
  )
  assert.deepEqual(wrong, [])
})

function everyKind(): string[] {
  return FAMILIES.flatMap((family) => [...engineSchemas(family).keys()].map((kind) => `${family} ${kind}`))
}

function yamlBlocks(text: string): string[] {
  return [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, block]) => block!)
}

function variablesOf(yaml: string): string[] {
  return [...yaml.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name!)
}

/** The engines of a configuration, as `video storyboard`. */
function kindsIn(yaml: string): string[] {
  type Entry = { engine?: EngineEntry; engines?: Array<{ engine: EngineEntry }> }
  type File = { video_models?: Entry[]; chat_models?: Entry[]; moderation?: Entry; translation?: Entry }
  const { video_models = [], chat_models = [], moderation = {}, translation = {} } = parse(yaml) as File
  const entries: Record<Family, Entry[]> = {
    video: video_models,
    chat: chat_models,
    moderation: [moderation],
    translation: [translation],
  }
  return FAMILIES.flatMap((family) =>
    entries[family]
      .flatMap(({ engine, engines = [] }) => [
        ...(engine === undefined ? [] : [engine]),
        ...engines.map((each) => each.engine),
      ])
      .map((engine) => `${family} ${entryOptions(engine).kind}`),
  )
}
