import assert from 'node:assert/strict'
import { basename, dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { importsOf, type Source, sourcesIn } from '../support/sources.ts'

const all = sourcesIn('server', 'console', 'dev', 'bench', 'test').filter(({ path }) => !path.includes('/dist/'))
const rooms = all.filter(({ path }) => !path.endsWith('.test.ts'))

/** Most files of one folder, tests left out. */
const FILES_MAX = 15
/** Folders that may hold more, each with its reason. The list may shrink. */
const LARGE: Readonly<Record<string, string>> = {}
/** Names that share a beginning and are not a folder in disguise, each with its reason. */
const SHARED: Readonly<Record<string, string>> = {}

test('no file imports, over any number of others, itself; types count', () => {
  assert.deepEqual(cyclesOf(all), [])
})

test(`a folder has at most ${FILES_MAX} files beside its tests`, () => {
  const folders = Map.groupBy(rooms, ({ path }) => dirname(path))
  const large = [...folders].filter(([, files]) => files.length > FILES_MAX).map(([folder]) => folder)
  assert.deepEqual(large.sort(), Object.keys(LARGE).sort())
})

test('a beginning that three files share is a folder', () => {
  assert.deepEqual(sharedBeginnings(rooms).sort(), Object.keys(SHARED).sort())
})

test('the checks find what they look for', () => {
  const file = (path: string, ...names: string[]): Source => {
    const text = names.map((name) => `import type { A } from '${name}'\n`).join('')
    return { path, text, lines: text.split('\n') }
  }
  assert.deepEqual(cyclesOf([file('a/a.ts', './b.ts'), file('a/b.ts', '../c.ts'), file('c.ts')]), [])
  assert.deepEqual(cyclesOf([file('a/a.ts', './b.ts'), file('a/b.ts', '../c.ts'), file('c.ts', './a/a.ts')]), [
    'a/a.ts, a/b.ts, c.ts',
  ])
  const names = ['x/store.ts', 'x/store-a.ts', 'x/store-b.ts', 'y/store-a.ts', 'y/store-b.ts', 'y/storey.ts']
  assert.deepEqual(sharedBeginnings(names.map((name) => file(name))), ['x/store'])
})

/** Sets of files that import each other in a loop, found as strongly connected components (Tarjan). */
function cyclesOf(sources: readonly Source[]): string[] {
  const known = new Map(sources.map((source) => [source.path, source]))
  const targets = (source: Source) =>
    importsOf(source).flatMap((name) => known.get(normalize(join(dirname(source.path), name))) ?? [])
  const index = new Map<Source, number>()
  const low = new Map<Source, number>()
  const stack: Source[] = []
  const found: string[] = []
  const visit = (source: Source): void => {
    index.set(source, index.size)
    low.set(source, index.get(source)!)
    stack.push(source)
    for (const target of targets(source)) {
      if (!index.has(target)) visit(target)
      if (stack.includes(target)) low.set(source, Math.min(low.get(source)!, low.get(target)!))
    }
    if (low.get(source) !== index.get(source)) return
    const loop = stack.splice(stack.indexOf(source)).map(({ path }) => path)
    if (loop.length > 1) found.push(loop.sort().join(', '))
  }
  for (const source of sources) if (!index.has(source)) visit(source)
  return found.sort()
}

/** Beginnings, up to the first hyphen, that three files of a folder or more have in common, as `<folder>/<beginning>`. */
function sharedBeginnings(sources: readonly Source[]): string[] {
  const beginnings = Map.groupBy(sources, ({ path }) => join(dirname(path), /^[^-.]+/.exec(basename(path))?.[0] ?? ''))
  return [...beginnings].filter(([, files]) => files.length >= 3).map(([beginning]) => beginning)
}
