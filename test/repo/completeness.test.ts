import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filesMatching, sourcesIn } from '../support/sources.ts'

const textOf = (path: string) =>
  filesMatching([path])
    .map(({ text }) => text)
    .join('\n')

test('every public route is on a page of docs/api', () => {
  const routes = sourcesIn('server')
    .filter(({ path }) => !path.endsWith('.test.ts'))
    .flatMap(({ text }) => [...text.matchAll(/\bpath: '(\/v1\/[^']+)'/g)].map(([, path]) => path!))
  assert.ok(routes.length > 15)
  const pages = textOf('docs/api/*.md')
  const missing = routes.filter((path) => !pages.includes(path.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '')))
  assert.deepEqual([...new Set(missing)], [])
})

test('every folder that may be imported is in the table of ARCHITECTURE.md', () => {
  const folders = [...textOf('test/repo/layout.test.ts').matchAll(/^ {2}'?([a-z-]+(?:\.ts)?)'?: \[/gm)].map(
    ([, name]) => name!,
  )
  const page = textOf('ARCHITECTURE.md')
  assert.ok(folders.length > 8)
  assert.deepEqual(
    folders.filter((name) => !page.includes(`\`${name}${name.endsWith('.ts') ? '' : '/'}\``)),
    [],
  )
})
