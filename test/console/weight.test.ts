import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { buildConsoleWhenStale } from '../support/console-build.ts'
import { ROOT } from '../support/sources.ts'

const DIST = join(ROOT, 'console', 'dist')
/** Of script, compressed by gzip, before the first page can show: what everybody waits for. Source: docs/console.md. */
const FIRST_BYTES_MAX = 200_000

before(() => buildConsoleWhenStale())

test(`the first visit loads at most ${FIRST_BYTES_MAX} bytes of compressed script`, () => {
  const page = readFileSync(join(DIST, 'index.html'), 'utf8')
  const named = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)].map(([, name]) => name!)
  const loaded = new Set<string>()
  for (const name of named) loadStatic(name, loaded)
  // Then the texts of one language and the larger of the pages that come first.
  const first = ['ja', 'sign-in-page'].map((name) => find(page, loaded, name))
  for (const name of first) if (name) loadStatic(name, loaded)
  const sizes = [...loaded].map((name) => [name, compressedBytes(name)] as const)
  const total = sizes.reduce((sum, [, bytes]) => sum + bytes, 0)
  assert.ok(total <= FIRST_BYTES_MAX, `${total} bytes: ${sizes.map((each) => each.join(' ')).join(', ')}`)
})

/** A chunk and all it imports before it runs. */
function loadStatic(name: string, loaded: Set<string>): void {
  if (loaded.has(name)) return
  loaded.add(name)
  const code = readFileSync(join(DIST, name), 'utf8')
  for (const [, other] of code.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) loadStatic(`assets/${other}`, loaded)
}

function find(page: string, loaded: ReadonlySet<string>, name: string): string | null {
  const sources = [page, ...[...loaded].map((each) => readFileSync(join(DIST, each), 'utf8'))]
  const pattern = new RegExp(`assets/${name}-[\\w-]+\\.js`)
  return sources.map((text) => pattern.exec(text)?.[0]).find((each) => each !== undefined) ?? null
}

function compressedBytes(name: string): number {
  const path = join(DIST, name)
  return statSync(`${path}.gz`, { throwIfNoEntry: false })?.size ?? gzipSync(readFileSync(path)).length
}
