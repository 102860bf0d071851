import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { testFilesOf } from '../support/named-tests.ts'
import { filesMatching, ROOT, sourcesIn } from '../support/sources.ts'

const text = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
const part = (heading: string) =>
  new RegExp(`^## ${heading}\\n([\\s\\S]*?)(?=^## |(?![\\s\\S]))`, 'm').exec(text)?.[1] ?? ''
const pathsIn = (markdown: string) =>
  [...markdown.matchAll(/`([\w./<>-]+\/[\w./<>-]*|[\w-]+\.(?:md|ts|json))`/g)].map(([, path]) => path!)

/** A kind as a list has it: in quotation marks, in a heading, or in a sentence of kinds. */
const LISTED = (kind: string) => new RegExp(`['"\`]${kind}['"\`]|\\b${kind}, |, ${kind}\\.`)

test('the recipe for an engine names every file that lists the kinds there are', () => {
  const named = new Set(pathsIn(part('Adding an engine')))
  const lists = ({ path, text }: { path: string; text: string }) =>
    path !== 'test/repo/contributing.test.ts' &&
    ['storyboard', 'videos-api', 'instant'].every((kind) => LISTED(kind).test(text))
  const files = [...sourcesIn('server', 'test'), ...filesMatching(['docs/*.md', 'docs/*.json'])]
    .filter(lists)
    .map(({ path }) => path)
  assert.ok(files.includes('server/engines/registry.ts'), files.join())
  assert.deepEqual(
    files.filter((path) => !named.has(path)),
    [],
  )
})

test('the recipe for an endpoint names the files that every endpoint is in', () => {
  const named = pathsIn(part('Adding an endpoint'))
  for (const path of ['routes.ts', 'schema.ts', 'store.ts'])
    assert.ok(
      named.some((each) => each.endsWith(`/${path}`)),
      path,
    )
  const everywhere = [
    'server/app.ts',
    'server/api-docs/page/japanese.ts',
    'test/http/',
    'test/http/openapi/errors.test.ts',
    'docs/api/',
    'docs/contract.md',
    'CHANGELOG.md',
  ]
  const of_a_folder = [
    'ARCHITECTURE.md',
    'test/repo/layout.test.ts',
    'test/repo/sql.test.ts',
    'server/api-docs/openapi/document.ts',
    'server/api-docs/page/words.ts',
  ]
  for (const path of [...everywhere, ...of_a_folder]) assert.ok(named.includes(path), path)
})

test('npm test accepts files and folders, and refuses a name that matches no test', () => {
  const http = testFilesOf(['test/http'], ROOT)
  assert.ok(http.length > 40)
  assert.ok(http.every((path) => path.startsWith('test/http/') && path.endsWith('.test.ts')))
  assert.deepEqual(testFilesOf(['./test/http/'], ROOT), http)
  const one = 'test/repo/contributing.test.ts'
  assert.deepEqual(testFilesOf([one, one], ROOT), [one])
  assert.ok(testFilesOf([one, 'test/repo'], ROOT).filter((path) => path === one).length === 1)
  const all = testFilesOf([], ROOT)
  for (const folder of ['server/', 'console/', 'test/'])
    assert.ok(
      all.some((path) => path.startsWith(folder)),
      folder,
    )
  for (const name of ['test/htpt', 'test/http/nosuch.test.ts', 'docs']) {
    assert.throws(() => testFilesOf([name], ROOT), /There is no test file/)
  }
})

test('tests of packages that are installed below test/ are not run as ours', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'kinora-tests-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  for (const folder of ['test/own', 'test/clients/x/node_modules/y/src']) {
    mkdirSync(join(root, folder), { recursive: true })
    writeFileSync(join(root, folder, 'a.test.ts'), '')
  }
  assert.deepEqual(testFilesOf(['test'], root), ['test/own/a.test.ts'])
})
