import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import Fastify from 'fastify'
import { CLIENT_PATHS, serveConsole } from '../../../server/console/assets.ts'
import { buildConsoleWhenStale } from '../../support/browser/console-build.ts'
import { startApp, type TestApp } from '../../support/http/app.ts'
import { rawConnection } from '../../support/http/raw-http.ts'

let app: TestApp
before(async () => {
  buildConsoleWhenStale()
  app = await startApp()
})
after(() => app.close())

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

async function ask(path: string, options: { method?: string; accept?: string; encoding?: string; etag?: string } = {}) {
  const { method = 'GET', accept = BROWSER, encoding = 'identity', etag } = options
  const { pathname, search } = new URL(path, app.url)
  const line = await rawConnection(app.url)
  const head = [
    `${method} ${pathname}${search} HTTP/1.1`,
    'host: kinora',
    `accept: ${accept}`,
    `accept-encoding: ${encoding}`,
  ]
  if (etag) head.push(`if-none-match: ${etag}`)
  await line.write(`${head.join('\r\n')}\r\n\r\n`)
  const answer = await line.answer({ bodiless: method === 'HEAD' || etag !== undefined })
  line.close()
  return answer
}

function assertUnknown({ status, body }: { status: number; body: Buffer }, what: string): void {
  assert.equal(status, 404, what)
  assert.equal(JSON.parse(body.toString()).error.code, 'unknown_url', what)
}

async function scriptOf(): Promise<string> {
  const page = (await ask('/')).body.toString()
  return /<script type="module" crossorigin src="([^"]+\/main-[^"]+)"/.exec(page)![1]!
}

test('200 with the page at / and at every page of the console', async () => {
  const page = await ask('/')
  assert.equal(page.status, 200)
  assert.match(page.headers['content-type']!, /^text\/html/)
  assert.match(page.body.toString(), /<div id="root">/)
  for (const path of CLIENT_PATHS) {
    assert.deepEqual((await ask(path)).body, page.body, path)
  }
})

test('200 with the page for programs that request / without an Accept header', async () => {
  assert.equal((await ask('/', { accept: '*/*' })).status, 200)
})

test('404 in JSON for pages of the console to programs, which meant the API', async () => {
  for (const path of CLIENT_PATHS) assertUnknown(await ask(path, { accept: 'application/json' }), path)
  assertUnknown(await ask('/videos', { accept: '*/*' }), '*/*')
  assertUnknown(await ask('/videos', { method: 'POST' }), 'POST')
  assertUnknown(await ask('/', { method: 'POST' }), 'POST /')
})

test('404 in JSON for every unknown URL of the API and of built files, to browsers too', async () => {
  const paths = [
    '/v1',
    '/v1/nothing',
    '/console',
    '/console/nothing',
    '/assets',
    '/assets/',
    '/docs/nothing',
    '/healthz/x',
  ]
  for (const path of [...paths, '/favicon.ico', '/index.html', '/robots.txt']) assertUnknown(await ask(path), path)
})

test('404 with the page of the console for every other address that a browser opens, and in JSON for programs', async () => {
  const page = await ask('/')
  for (const path of ['/nosuch', '/no/such', '/videosx', '/invitations', '/files/below', '/sign-in/below', '/v1x']) {
    const answer = await ask(path)
    assert.equal(answer.status, 404, path)
    assert.deepEqual(answer.body, page.body, path)
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.equal(answer.headers['content-security-policy'], page.headers['content-security-policy'])
    assertUnknown(await ask(path, { accept: '*/*' }), path)
    assertUnknown(await ask(path, { accept: 'application/json' }), path)
  }
  for (const path of ['/videos/video_x', '/chat/conv_x']) assert.equal((await ask(path)).status, 200)
  assert.equal((await ask('/nosuch', { etag: page.headers.etag! })).status, 404)
})

test('404 for paths that climb out of the built files', async () => {
  const climbing = [
    '/assets/../index.html',
    '/assets/%2e%2e/index.html',
    '/assets/..%2f..%2fpackage.json',
    '/assets//etc/passwd',
  ]
  for (const path of [...climbing, '/assets/%00', '/assets/..%5c..%5cpackage.json', '/%2e%2e/package.json']) {
    const line = await rawConnection(app.url)
    await line.write(`GET ${path} HTTP/1.1\r\nhost: kinora\r\naccept: ${BROWSER}\r\n\r\n`)
    assertUnknown(await line.answer(), path)
    line.close()
  }
})

test('the page may be cached but must be revalidated, and its policy allows nothing from other origins', async () => {
  const { headers } = await ask('/videos')
  assert.equal(headers['cache-control'], 'no-cache')
  const policy = headers['content-security-policy']!
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
  assert.doesNotMatch(policy, /unsafe|\*|https?:/)
  for (const part of ["base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"])
    assert.ok(policy.includes(part))
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['referrer-policy'], 'same-origin')
  assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
  assert.match(headers['permissions-policy']!, /camera=\(\)/)
})

test('the page has no inline script or style and names no other host', async () => {
  const page = (await ask('/')).body.toString()
  assert.doesNotMatch(page, /<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=|https?:\/\//)
})

test('304 for the page and for a file that the browser has cached', async () => {
  for (const path of ['/', await scriptOf()]) {
    for (const encoding of ['identity', 'br']) {
      const { etag } = (await ask(path, { encoding })).headers
      assert.match(etag!, /^"[\w-]+"$/)
      const again = await ask(path, { encoding, etag: etag! })
      assert.equal(again.status, 304)
      assert.equal(again.headers.etag, etag)
    }
  }
})

test('files are cached for a year, and sent in an encoding the browser accepts', async () => {
  const path = await scriptOf()
  const plain = await ask(path)
  assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable')
  assert.match(plain.headers['content-type']!, /^text\/javascript/)
  assert.equal(plain.headers['content-encoding'], undefined)
  const brotli = await ask(path, { encoding: 'gzip, deflate, br, zstd' })
  assert.equal(brotli.headers['content-encoding'], 'br')
  assert.equal(brotli.headers.vary, 'accept-encoding')
  assert.deepEqual(brotliDecompressSync(brotli.body), plain.body)
  const gzip = await ask(path, { encoding: 'gzip, br;q=0' })
  assert.equal(gzip.headers['content-encoding'], 'gzip')
  assert.deepEqual(gunzipSync(gzip.body), plain.body)
  assert.equal(new Set([plain, brotli, gzip].map(({ headers }) => headers.etag)).size, 3)
})

test('200 without a body to HEAD', async () => {
  for (const path of ['/', '/videos', await scriptOf()]) {
    const whole = await ask(path)
    const head = await ask(path, { method: 'HEAD' })
    assert.equal(head.status, 200)
    assert.equal(head.headers['content-length'], String(whole.body.length))
    assert.equal(head.headers.etag, whole.headers.etag)
  }
})

test('a page with instructions when the console is not built', async () => {
  const http = Fastify()
  serveConsole(http, '/nowhere/')
  const answer = await http.inject({ url: '/' })
  assert.equal(answer.statusCode, 200)
  assert.match(answer.body, /npm run build/)
  await http.close()
})
