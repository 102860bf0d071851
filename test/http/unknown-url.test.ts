import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI from 'openai'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'

let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
})
after(() => app.close())

async function messageOf(method: string, path: string): Promise<string> {
  const answer = await send(app, method as 'GET', path, person)
  assert.equal(answer.status, 404, path)
  assert.equal(answer.body.error.code, 'unknown_url')
  return answer.body.error.message
}

test('404 for a URL without /v1 asks whether the one with it was meant', async () => {
  const cases: Array<[method: string, path: string]> = [
    ['POST', '/chat/completions'],
    ['POST', '/videos'],
    ['GET', '/models'],
    ['GET', '/videos/video_01M7WF7EZC9STDJ5QFNZ6B97RD/content'],
    ['GET', '/responses/resp_1/input_items'],
  ]
  for (const [method, path] of cases) {
    const message = `Unknown request URL: ${method} ${path}. Did you mean /v1${path}? See /docs for the routes.`
    assert.equal(await messageOf(method, `${path}?limit=1`), message)
  }
})

test('404 for a URL with /v1 twice, or below another prefix, asks the same', async () => {
  assert.match(await messageOf('POST', '/v1/v1/responses'), /Did you mean \/v1\/responses\?/)
  assert.match(await messageOf('GET', '/api/v1/models'), /Did you mean \/v1\/models\?/)
})

test('404 for a URL that no prefix would fix asks nothing', async () => {
  for (const [method, path] of [
    ['GET', '/nosuch'],
    ['GET', '/v1/nosuch'],
    ['GET', '/console/nosuch'],
    ['GET', `/${'a/'.repeat(90)}`],
  ] as const) {
    const shown = path.slice(0, 200)
    assert.equal(await messageOf(method, path), `Unknown request URL: ${method} ${shown}. See /docs for the routes.`)
  }
})

test('two slashes are as good as one, at any place of the path', async () => {
  for (const path of ['/v1//models', '//v1/models', '/v1/models//sandbox-1', '/v1//models/'])
    assert.equal((await send(app, 'GET', path, person)).status, 200, path)
})

test('openai: a base URL without /v1 is answered with that question', async () => {
  const client = new OpenAI({ apiKey: person.key, baseURL: app.url, maxRetries: 0 })
  await assert.rejects(client.models.list(), /404 .*Did you mean \/v1\/models\?/)
})
