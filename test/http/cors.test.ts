import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { rawConnection } from '../support/http/raw-http.ts'
import { send } from '../support/http/send.ts'
import { type ApiDocument, operationsOf, resolveRefs } from './openapi/rules.ts'

const ORIGIN = 'https://app.example.com'
const MODELS = `
chat_models:
  - { id: sandbox-1, engine: sandbox, price_per_million: { input: "1", output: "1" } }
video_models:
  - { id: instant-1, engine: instant, per_second: "0.010000" }
`

let app: TestApp
let person: TestPerson
let closed: TestApp
before(async () => {
  app = await startApp({ config: `cors: { origins: ["${ORIGIN}", "http://localhost:5173"] }\n${MODELS}` })
  person = await newCustomer(app)
  closed = await startApp({ config: MODELS, beside: app })
})
after(async () => {
  await closed.close()
  await app.close()
})

const allowed = (headers: Headers) => headers.get('access-control-allow-origin')

/** Every page may read the first; the others speak to browsers and proxies. */
const NOT_READ = new Set([
  'cache-control',
  ...['accept-ranges', 'content-security-policy', 'x-accel-buffering', 'x-content-type-options'],
])

/** The headers of responses below `/v1` that the OpenAPI document describes. */
async function describedHeaders(): Promise<Set<string>> {
  const document = (await (await fetch(`${app.url}/openapi.json`)).json()) as ApiDocument
  const operations = operationsOf(document).filter(({ path }) => path.startsWith('/v1/'))
  const responses = operations.flatMap(({ operation }) => Object.values(operation.responses))
  return new Set(
    responses.flatMap((each) => Object.keys((resolveRefs(document, each) as { headers?: object }).headers ?? {})),
  )
}

function preflight(service: TestApp, path: string, origin: string) {
  const headers = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,x-stainless-lang',
  }
  return send(service, 'OPTIONS', path, { headers })
}

test('204 for a preflight of a listed origin, on any path of the API and without a key', async () => {
  for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/files/file-1/content', '/v1/nosuch']) {
    const { status, headers, text } = await preflight(app, path, ORIGIN)
    assert.deepEqual([status, text, allowed(headers)], [204, '', ORIGIN], path)
    assert.match(headers.get('access-control-allow-methods')!, /\bPOST\b.*\bDELETE\b/)
    assert.equal(headers.get('access-control-allow-headers'), 'authorization,content-type,x-stainless-lang')
    assert.equal(headers.get('access-control-allow-credentials'), null)
    assert.equal(headers.get('vary'), 'Origin')
  }
})

test('a preflight with a body is answered, and what follows its body is not taken for it', async () => {
  const ask = (...lines: string[]) =>
    ['OPTIONS /v1/models HTTP/1.1', 'host: kinora', `origin: ${ORIGIN}`, 'access-control-request-method: GET', ...lines]
      .concat('', '')
      .join('\r\n')
  const hidden = 'GET /healthz HTTP/1.1\r\nhost: kinora\r\n\r\n'
  for (const [head, body, status, connection] of [
    [ask(`content-length: ${hidden.length}`), hidden, 204, 'keep-alive'],
    [ask('content-length: 8000000'), Buffer.alloc(8_000_000), 204, 'close'],
    [ask('transfer-encoding: chunked'), '0\r\n\r\n', 204, 'close'],
    [ask('transfer-encoding: gzip, chunked'), `0\r\n\r\n${hidden}`, 400, 'close'],
  ] as const) {
    const raw = await rawConnection(app.url)
    await raw.write(head)
    const answer = await raw.answer()
    assert.deepEqual([answer.status, answer.headers.connection], [status, connection])
    await raw.write(body).catch(() => {})
    if (connection === 'keep-alive') {
      await raw.write('GET /v1/nosuch HTTP/1.1\r\nhost: kinora\r\n\r\n')
      assert.equal((await raw.answer()).status, 404)
      raw.close()
    } else await assert.rejects(raw.answer(), /connection ended after 0 bytes/)
  }
})

test('answers of every kind name the listed origin that asked, and the headers that a page may read', async () => {
  const { key } = person
  const headers = { origin: 'http://localhost:5173' }
  const messages = [{ role: 'user', content: 'Hi' }]
  const answers = [
    await send(app, 'GET', '/v1/models', { key, headers }),
    await send(app, 'GET', '/v1/models', { headers }),
    await send(app, 'GET', '/v1/nosuch', { key, headers }),
    await send(app, 'POST', '/v1/chat/completions', { key, headers }, { model: 'sandbox-1', messages, stream: true }),
    await send(app, 'POST', '/v1/responses', { key, headers }, { model: 'sandbox-1', input: 'Hi' }),
    await send(app, 'POST', '/v1/responses', { key, headers }, Buffer.from('{')),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 401, 404, 200, 200, 400],
  )
  const readable = (await describedHeaders()).difference(NOT_READ).add('retry-after-ms')
  for (const { headers: sent } of answers) {
    assert.equal(allowed(sent), 'http://localhost:5173')
    assert.equal(sent.get('access-control-allow-credentials'), null)
    const exposed = new Set(sent.get('access-control-expose-headers')!.split(', '))
    assert.deepEqual(readable, exposed)
  }
})

test('no other origin, no other path and no service without the setting is open to pages', async () => {
  for (const origin of [
    'https://example.com',
    'https://app.example.com.evil.example',
    'https://APP.example.com',
    'null',
  ]) {
    const asked = await preflight(app, '/v1/models', origin)
    assert.deepEqual([asked.status, allowed(asked.headers)], [401, null], origin)
    const answer = await send(app, 'GET', '/v1/models', { key: person.key, headers: { origin } })
    // A cache may not give this answer to a page of a listed origin.
    for (const { headers } of [asked, answer]) assert.equal(headers.get('vary'), 'Origin')
    assert.deepEqual([answer.status, allowed(answer.headers)], [200, null], origin)
  }
  for (const path of ['/console/session', '/console/auth/sign-in/email', '/healthz'])
    assert.equal(allowed((await preflight(app, path, ORIGIN)).headers), null, path)
  const asked = await preflight(closed, '/v1/models', ORIGIN)
  assert.deepEqual([asked.status, allowed(asked.headers), asked.headers.get('vary')], [401, null, null])
})

test('a browser keeps from a page of a listed origin what a cookie alone would read', async () => {
  const caller = { cookie: person.cookie, headers: { origin: ORIGIN, 'sec-fetch-site': 'same-site' } }
  for (const path of ['/v1/models', '/v1/files', '/v1/videos']) {
    const { headers } = await send(app, 'GET', path, caller)
    assert.deepEqual([allowed(headers), headers.get('access-control-allow-credentials')], [ORIGIN, null])
  }
  const { headers } = await send(app, 'GET', '/console/session', caller)
  assert.equal(allowed(headers), null)
})

test('403 for a page of a listed origin that writes with the cookie of a login', async () => {
  const messages = [{ role: 'user', content: 'Hi' }]
  const caller = { cookie: person.cookie, headers: { origin: ORIGIN, 'sec-fetch-site': 'same-site' } }
  const answer = await send(app, 'POST', '/v1/chat/completions', caller, { model: 'sandbox-1', messages })
  assert.deepEqual([answer.status, answer.body.error.code], [403, 'csrf_failed'])
})
