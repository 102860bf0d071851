import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { buildConsoleWhenStale } from '../support/browser/console-build.ts'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { ROOT } from '../support/sources.ts'
import { openBrowser, openConsole } from './browser/browser.ts'

const DIST = join(ROOT, 'console', 'dist')
/** Of script, as it is sent, and of requests for anything, with nothing cached: what everybody waits for. Source: docs/console.md. */
const FIRST_BYTES_MAX = 190_000
const FIRST_REQUESTS_MAX = 30

/** Of script that draws a chart, compressed by gzip. Source: docs/console.md. */
const CHART_BYTES_MAX = 25_000

let app: TestApp
before(async () => {
  buildConsoleWhenStale()
  app = await startApp()
})
after(() => app?.close())

for (const [path, ready] of [
  ['/sign-in', 'Email'],
  ['/videos', 'Prompt'],
  ['/chat', 'Your message'],
] as const)
  test(`a first visit of ${path} loads at most ${FIRST_BYTES_MAX} bytes of script in at most ${FIRST_REQUESTS_MAX} requests`, async () => {
    const as = path === '/sign-in' ? undefined : await newCustomer(app)
    const { page, close } = await openConsole(await openBrowser(), { app, as, path, cold: true })
    await page.getByLabel(ready, { exact: true }).waitFor()
    // What is loaded last, after the page is shown.
    await page.getByRole('region', { name: /^Notifications/ }).waitFor({ state: 'attached' })
    const loaded = await page.evaluate(() =>
      performance.getEntriesByType('resource').map((each) => {
        const { name, encodedBodySize } = each as PerformanceResourceTiming
        return { name: new URL(name).pathname, bytes: encodedBodySize }
      }),
    )
    const scripts = loaded.filter(({ name }) => name.endsWith('.js'))
    const total = scripts.reduce((sum, { bytes }) => sum + bytes, 0)
    // The page itself, and the stream of events, which goes on.
    const requests = loaded.length + 2
    const list = loaded.map(({ name, bytes }) => `${name} ${bytes}`).join(', ')
    assert.ok(scripts.length > 0 && scripts.every(({ bytes }) => bytes > 0), list)
    assert.ok(total <= FIRST_BYTES_MAX, `${total} bytes of script: ${list}`)
    assert.ok(requests <= FIRST_REQUESTS_MAX, `${requests} requests: ${list}`)
    await close()
  })

test(`a page with a chart loads at most ${CHART_BYTES_MAX} bytes of compressed script for it`, () => {
  const chart = heaviest('usage-chart')
  assert.ok(chart)
  const page = new Set<string>()
  for (const [, name] of readFileSync(join(DIST, 'index.html'), 'utf8').matchAll(/"\/(assets\/[^"]+\.js)"/g))
    loadStatic(name!, page)
  // And that on which it is drawn.
  for (const name of readdirSync(join(DIST, 'assets'))) {
    const isJs = name.endsWith('.js')
    if (isJs && readFileSync(join(DIST, 'assets', name), 'utf8').includes(chart.replace('assets/', './')))
      loadStatic(`assets/${name}`, page)
  }
  assert.ok(!page.has(chart))
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
