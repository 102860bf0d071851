import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { buildConsoleWhenStale } from '../support/browser/console-build.ts'
import { ROOT } from '../support/sources.ts'

const DIST = join(ROOT, 'console', 'dist')
/** Of script, compressed by gzip, before the first page can show: what everybody waits for. Source: docs/console.md. */
const FIRST_BYTES_MAX = 200_000

/** Of script that draws a chart, compressed by gzip. Source: docs/console.md. */
const CHART_BYTES_MAX = 25_000

before(() => buildConsoleWhenStale())

test(`the first visit loads at most ${FIRST_BYTES_MAX} bytes of compressed script`, () => {
  const page = readFileSync(join(DIST, 'index.html'), 'utf8')
  const named = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)].map(([, name]) => name!)
  const loaded = new Set<string>()
  for (const name of named) loadStatic(name, loaded)
  // Then what nobody waits less for: a page to sign in, and the words of a language.
  for (const name of ['sign-in-page', 'errors', 'kit', 'shell', 'login']) {
    const found = heaviest(name)
    assert.ok(found, name)
    loadStatic(found, loaded)
  }
  const sizes = [...loaded].map((name) => [name, compressedBytes(name)] as const)
  const total = sizes.reduce((sum, [, bytes]) => sum + bytes, 0)
  assert.ok(total <= FIRST_BYTES_MAX, `${total} bytes: ${sizes.map((each) => each.join(' ')).join(', ')}`)
})

test(`a page with a chart loads at most ${CHART_BYTES_MAX} bytes of compressed script for it`, () => {
  const chart = heaviest('usage-chart')
  assert.ok(chart)
  const page = new Set<string>()
  for (const [, name] of readFileSync(join(DIST, 'index.html'), 'utf8').matchAll(/"\/(assets\/[^"]+\.js)"/g))
    loadStatic(name!, page)
  const loaded = new Set(page)
  loadStatic(chart, loaded)
  const sizes = [...loaded].filter((name) => !page.has(name)).map((name) => [name, compressedBytes(name)] as const)
  const total = sizes.reduce((sum, [, bytes]) => sum + bytes, 0)
  assert.ok(total <= CHART_BYTES_MAX, `${total} bytes: ${sizes.map((each) => each.join(' ')).join(', ')}`)
})

/** A chunk and all it imports before it runs. */
function loadStatic(name: string, loaded: Set<string>): void {
  if (loaded.has(name)) return
  loaded.add(name)
  const code = readFileSync(join(DIST, name), 'utf8')
  for (const [, other] of code.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) loadStatic(`assets/${other}`, loaded)
}

/** Of the chunks with this name: both languages have one each. */
function heaviest(name: string): string | undefined {
  const found = readdirSync(join(DIST, 'assets')).filter((file) => new RegExp(`^${name}-[\\w-]{8}\\.js$`).test(file))
  const paths = found.map((file) => `assets/${file}`)
  return paths.sort((a, b) => compressedBytes(b) - compressedBytes(a))[0]
}

function compressedBytes(name: string): number {
  const path = join(DIST, name)
  return statSync(`${path}.gz`, { throwIfNoEntry: false })?.size ?? gzipSync(readFileSync(path)).length
}
