import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newCustomer, startApp, type TestApp } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'

let app: TestApp
let named: TestApp
before(async () => {
  app = await startApp()
  named = await startApp({ config: 'terms: { version: "7", url: "https://acme.example/terms?a=1" }' })
})
after(async () => {
  await app?.close()
  await named?.close()
})

const open = (at: { url: string }, path: string, headers: Record<string, string> = {}) =>
  fetch(at.url + path, { headers, redirect: 'manual' })

test('200 with terms of the service itself at the address that people are sent to, until the operator names theirs', async () => {
  const person = await newCustomer(app)
  const { terms_url, terms_version } = (await send(app, 'GET', '/v1/videos/acceptance', person)).body
  assert.equal(terms_url, `${app.url}/terms`)
  const answer = await fetch(terms_url)
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('content-type')!, /^text\/html/)
  assert.match(answer.headers.get('content-security-policy')!, /default-src 'none'/)
  const text = await answer.text()
  assert.ok(text.includes(terms_version))
  assert.doesNotMatch(text, /<script(?! src="\/docs\/choices\.js"><\/script>)|kinora\.example/)
})

test('200 in the language of the reader, or in the one that is asked for', async () => {
  const pages = [
    ['/terms', { 'accept-language': 'fr, ja;q=0.8, en;q=0.5' }, 'ja'],
    ['/terms', { 'accept-language': 'en-GB' }, 'en'],
    ['/terms', {}, 'en'],
    ['/terms?lang=ja', { 'accept-language': 'en' }, 'ja'],
    ['/terms?lang=xx', {}, 'en'],
  ] as const
  for (const [path, headers, language] of pages) {
    const answer = await open(app, path, headers)
    const text = await answer.text()
    assert.match(text, new RegExp(`<html lang="${language}">`), path)
    assert.match(text, language === 'ja' ? /動画の利用規約/ : /Video terms/)
    assert.match(answer.headers.get('vary') ?? '', /accept-language/i)
  }
})

test('302 to the terms of the operator once they are configured', async () => {
  const answer = await open(named, '/terms')
  assert.equal(answer.status, 302)
  assert.equal(answer.headers.get('location'), 'https://acme.example/terms?a=1')
  const { body } = await send(named, 'GET', '/console/site')
  assert.deepEqual(body.terms, { version: '7', url: 'https://acme.example/terms?a=1' })
})

test('the terms never name the host of our examples', () => {
  for (const { ctx } of [app, named]) assert.doesNotMatch(JSON.stringify(ctx.config.terms), /kinora\.example/)
})
