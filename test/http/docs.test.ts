import assert from 'node:assert/strict'
import { on } from 'node:events'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { Compile } from 'typebox/compile'
import { openApiPath } from '../../server/api-docs/openapi/document.ts'
import { JAPANESE } from '../../server/api-docs/page/japanese.ts'
import type { Route } from '../../server/identity/caller/route.ts'
import { startApp, type TestApp } from '../support/http/app.ts'
import { effortOf } from '../support/processor-time.ts'

let app: TestApp
let pages: Record<'en' | 'ja', string>
before(async () => {
  app = await startApp()
  pages = { en: await pageOf('?lang=en'), ja: await pageOf('?lang=ja') }
})
after(() => app?.close())

async function pageOf(query: string, headers: Record<string, string> = {}): Promise<string> {
  return (await fetch(`${app.url}/docs${query}`, { headers })).text()
}

type Operation = { operationId: string; summary: string; requestBody?: { content: Record<string, unknown> } }

async function operations(): Promise<Operation[]> {
  const document = (await (await fetch(`${app.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Operation>>
  }
  return Object.values(document.paths).flatMap((methods) => Object.values(methods))
}

test('the page leads back to the console and to its other language', () => {
  for (const [language, other] of [
    ['en', 'ja'],
    ['ja', 'en'],
  ] as const) {
    assert.match(pages[language], new RegExp(`<html lang="${language}">`))
    assert.match(pages[language], /<a href="\/"[^>]*>[^<]+<\/a>/)
    assert.match(pages[language], new RegExp(`<a href="/docs\\?lang=${other}" hreflang="${other}"`))
  }
})

test('the page is in the language of the reader', async () => {
  assert.match(await pageOf('', { 'accept-language': 'ja-JP,ja;q=0.9,en;q=0.8' }), /<html lang="ja">/)
  assert.match(await pageOf('', { 'accept-language': 'de' }), /<html lang="en">/)
  const { headers } = await fetch(`${app.url}/docs`)
  assert.match(headers.get('vary') ?? '', /accept-language/i)
})

test('the page says where its commands take address and key from, and counts as its language does', () => {
  for (const page of Object.values(pages)) {
    const introduction = page.slice(page.indexOf('<h1>'), page.indexOf('<section'))
    for (const word of ['KINORA_BASE_URL', 'KINORA_API_KEY', 'aspect_ratio'])
      assert.ok(introduction.includes(word), word)
  }
  assert.match(pages.en, /At most 8 elements\./)
  assert.match(pages.ja, /8 個以下。/)
  assert.doesNotMatch(pages.ja, /以[上下] (個|文字)/)
})

test('every text of an endpoint, a part or a field is there in Japanese too', async () => {
  // biome-ignore lint/suspicious/noExplicitAny: any document will do.
  const document = (await (await fetch(`${app.url}/openapi.json`)).json()) as any
  const texts = new Set<string>([...(await operations())].map(({ summary }) => summary))
  for (const { description } of document.tags) if (description) texts.add(description)
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, inner] of Object.entries(value)) {
      if (name === 'description' && typeof inner === 'string') texts.add(inner)
      // What an answer is described by stands in no page.
      else if (name !== 'responses') visit(inner)
    }
  }
  visit(document.paths)
  visit(document.components.schemas)
  const missing = [...texts].filter((text) => !Object.hasOwn(JAPANESE, text) && /\p{Ll}/u.test(text) && !isBare(text))
  assert.deepEqual(missing, [], 'to be added to server/api-docs/page/japanese.ts')
})

const nameOf = (each: Route) => `${each.method} ${openApiPath(each)}`

/** Ranges are written in the language of the page. */
const isBare = (text: string) => /^\d+ to \d+ elements\.$/.test(text)

test('every call that takes JSON shows a body that its schema accepts', async () => {
  const taking = app.app.routes.filter(
    ({ internal, body, accepts = ['json'] }) => !internal && body && accepts.includes('json'),
  )
  const shown = app.app.routes.filter(({ example }) => example !== undefined)
  assert.deepEqual(taking.map(nameOf).sort(), shown.map(nameOf).sort())
  for (const each of taking) {
    assert.deepEqual([...Compile(each.body!).Errors(each.example)], [], each.path)
    for (const page of Object.values(pages)) {
      const block = new RegExp(`curl [\\s\\S]*?${each.path.replace(/:\w+/g, '\\{\\w+\\}')}&quot;[\\s\\S]*?</pre>`).exec(
        page,
      )
      assert.ok(block, each.path)
    }
  }
  for (const { operationId, requestBody } of await operations()) {
    const block = new RegExp(`<details id="${operationId}">[\\s\\S]*?</pre>`).exec(pages.en)![0]
    if (requestBody) assert.match(block, /-d &#39;\{|-d '\{|-F purpose/, operationId)
    assert.doesNotMatch(block, /@body\.json/)
  }
})

test('on a narrow screen the contents are folded, and there is one list of them at a time', () => {
  for (const page of Object.values(pages)) assert.match(page, /<details class="fold"><summary>/)
})

test('304 for the description, the page and its style to a client that has them; a page in another language is another', async () => {
  for (const path of ['/openapi.json', '/docs?lang=en', '/docs/style.css', '/docs/choices.js', '/terms']) {
    const first = await fetch(`${app.url}${path}`)
    const etag = first.headers.get('etag')!
    assert.ok((await first.text()).length > 1000)
    // A proxy that compresses weakens the tag.
    for (const tag of [etag, `W/${etag}`]) {
      const again = await fetch(`${app.url}${path}`, { headers: { 'if-none-match': tag } })
      assert.equal(again.status, 304, path)
      assert.equal(again.headers.get('etag'), etag)
      assert.equal(again.headers.get('cache-control'), 'no-cache')
      assert.equal(await again.text(), '')
    }
    const other = await fetch(`${app.url}/docs?lang=ja`, { headers: { 'if-none-match': etag } })
    assert.equal(other.status, 200)
    await other.body?.cancel()
  }
})

test('the description and the page take a fraction of a millisecond each to send', async () => {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
  const count = 100
  for (const path of ['/openapi.json', '/docs']) {
    const length = Number((await fetch(`${app.url}${path}`)).headers.get('content-length'))
    const askOften = async () => {
      for (let i = 0; i < count; i++) {
        let received = 0
        socket.write(`GET ${path} HTTP/1.1\r\nhost: kinora\r\n\r\n`)
        for await (const [chunk] of on(socket, 'data')) {
          received += chunk.length
          // The headers come before them.
          if (received > length) break
        }
      }
    }
    const allowed = { seconds: 0.0005 * count }
    const { seconds } = await effortOf(askOften, allowed)
    assert.ok(seconds < allowed.seconds, `${path}: ${(seconds * 1000) / count} ms each`)
  }
  socket.destroy()
})
