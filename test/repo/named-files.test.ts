import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../support/sources.ts'

for (const document of ['ARCHITECTURE.md', 'CONTRIBUTING.md']) {
  test(`every file and folder that ${document} names is there, in the folder that its section or row is about`, () => {
    const named = namedIn(readFileSync(join(ROOT, document), 'utf8'))
    assert.ok(named.length > 60, `${named.length} names`)
    const missing = named.filter(({ name, folders }) => pathsOf(name, folders).length === 0)
    assert.deepEqual(
      missing.map(({ name, folders }) => `${name} in ${folders.filter(Boolean).join(', ') || 'the repository'}`),
      [],
    )
  })
}

test('a name is looked for where its section or its row says, and nowhere else', () => {
  const page = [
    '## One',
    'The files are in `server/videos/pipeline/`: `advance.ts`, `worker.ts`.',
    '| Room | Files |',
    '|---|---|',
    '| `server/platform/queue/` | `worker.ts`, `lease*`, `<any>.ts` |',
    '## Two',
    '',
    'In a folder `routes.ts` is HTTP, `roots.ts` is not.',
    '',
    '`advance.ts`, `npm test -- test/repo test/repoo`',
  ].join('\n')
  assert.deepEqual(
    namedIn(page)
      .filter(({ name, folders }) => pathsOf(name, folders).length === 0)
      .map(({ name }) => name),
    ['worker.ts', 'roots.ts', 'advance.ts', 'test/repoo'],
  )
})

type Named = { name: string; folders: string[] }

/** Names of files and folders in code spans and shell blocks, with the folders that each may be in; '' is the repository. */
function namedIn(markdown: string): Named[] {
  const prose = markdown.replace(/^```(\w*)\n([\s\S]*?)^```/gm, (_, language: string, code: string) =>
    language === 'sh' ? code.replace(/^([^#\n]+).*$/gm, '`$1`') : '',
  )
  return prose.split(/^## /m).flatMap((section) => {
    const around = ['', ...[...section.matchAll(/(?: are (?:in|below)|Folder of) `([\w/-]+\/)`/g)].map(([, at]) => at!)]
    return section.split(/\n(?=\n|\|)/).flatMap((block) => {
      const names = spansOf(block).filter(isName)
      if (block.trim().startsWith('In a folder')) return names.map((name) => ({ name, folders: ['**/'] }))
      const folders = block.startsWith('|') ? [...around, ...roomsOf(block, around)] : around
      return names.map((name) => ({ name, folders }))
    })
  })
}

/** Folders that a row names, and those that it names in one of these. */
function roomsOf(row: string, around: string[]): string[] {
  const named = spansOf(row).filter((name) => name.endsWith('/'))
  const within = (folders: string[]) => named.flatMap((name) => pathsOf(name, folders)).map((path) => `${path}/`)
  const found = within(around)
  return [...found, ...within(found)]
}

function spansOf(markdown: string): string[] {
  return [...markdown.matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) => code!.split(' '))
}

function isName(code: string): boolean {
  if (!/^[\w.<>*][\w.<>*/-]*$/.test(code)) return false
  return /\/$|^\.\w+$|[\w>]\.(tsx?|mjs|md|json)$|\w-\*$|^(server|console|test|docs|bench|dev)\//.test(code)
}

/** Paths of a name in any of these folders. `<feature>` stands for any name. */
function pathsOf(name: string, folders: string[]): string[] {
  const pattern = name.replace(/<\w+>/g, '*').replace(/\/$/, '')
  return folders.flatMap((folder) => globSync(folder + pattern, { cwd: ROOT, exclude: ['node_modules', '.git'] }))
}
