import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { samplePicture } from '../../support/data/media.ts'
import {
  newColleague,
  newCustomer,
  startApp,
  type TestApp,
  type TestPerson,
  videoBody,
} from '../../support/http/app.ts'
import { PASSWORD } from '../../support/http/people.ts'
import { type OidcServer, startOidcServer } from '../console/oidc-server.ts'
import { type ApiDocument, resolveRefs } from './rules.ts'

let provider: OidcServer
let app: TestApp
let person: TestPerson
let document: ApiDocument
before(async () => {
  provider = await startOidcServer({ now: () => app.clock.now() })
  const { issuer, client_id, client_secret } = provider.config
  app = await startApp({
    config: `
plans:
  free: { requests_per_minute: 600, max_concurrent_renders: 2 }
video_models:
  - { id: instant-1, engine: instant, per_second: "0.010000" }
chat_models:
  - { id: sandbox-1, engine: sandbox, capabilities: [tools], price_per_million: { input: "1", output: "1" } }
login:
  oidc: { name: Acme, issuer: "${issuer}", client_id: "${client_id}", client_secret: "${client_secret}" }
`,
  })
  person = await newCustomer(app)
  document = (await (await fetch(`${app.url}/openapi.json`)).json()) as ApiDocument
})
after(async () => {
  await app?.close()
  await provider.close()
})

/** Of the connection and the encoding, which OpenAPI leaves out of response headers or HTTP sets by itself. */
const OF_HTTP = new Set(['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding'])
/** Headers met in this test, by operation and status of success, or by the status of an error. */
const met = new Map<string, { described: string[]; sent: Set<string> }>()

beforeEach(() => met.clear())

/** Makes the call and compares the headers of its answer with those the document gives it. */
async function call(name: string, path: string, init: RequestInit = {}) {
  const answer = await fetch(app.url + path, { redirect: 'manual', ...init })
  // The live events of the console never end.
  const endless = path === '/console/events'
  if (endless) await answer.body?.cancel()
  const text = endless ? '' : await answer.text()
  compare(name, answer)
  return { status: answer.status, headers: answer.headers, text, json: text.startsWith('{') ? JSON.parse(text) : null }
}

function compare(name: string, { status, headers }: Response): void {
  const [method, path] = name.split(' ') as [string, string]
  const response = document.paths[path]?.[method.toLowerCase()]?.responses[status]
  assert.ok(response, `${name} does not name ${status}`)
  const described = (resolveRefs(document, response) as { headers: Record<string, { required?: boolean }> }).headers
  const sent = [...headers.keys()].filter((header) => !OF_HTTP.has(header))
  const where = `${name} ${status}`
  assert.deepEqual(
    sent.filter((header) => !(header in described)),
    [],
    `${where}: sent, not described`,
  )
  const always = Object.entries(described).filter(([, { required }]) => required)
  assert.deepEqual(
    always.filter(([header]) => !headers.has(header)),
    [],
    `${where}: described as always there, not sent`,
  )
  const key = status < 400 ? where : String(status)
  const entry = met.get(key) ?? { described: Object.keys(described), sent: new Set() }
  for (const header of sent) entry.sent.add(header)
  met.set(key, entry)
}

const key = () => ({ authorization: `Bearer ${person.key}` })
const browser = () => ({ cookie: person.cookie, origin: app.url })
const json = (headers: Record<string, string>, body: unknown): RequestInit => ({
  method: 'POST',
  body: JSON.stringify(body),
  headers: { ...headers, 'content-type': 'application/json' },
})

/** As a program and from the console: what may differ is both. */
async function asBoth(name: string, path: string, make: (headers: Record<string, string>) => RequestInit) {
  await call(name, path, make(browser()))
  return call(name, path, make(key()))
}

/** Described headers that no answer of this test had. */
function unseen(kind: 'success' | 'error', ...never: string[]): string[] {
  return [...met].flatMap(([where, { described, sent }]) =>
    /^\d+$/.test(where) !== (kind === 'error')
      ? []
      : described
          .filter((header) => !sent.has(header) && !never.includes(header))
          .map((header) => `${where}: ${header}`),
  )
}

const TOOLS = [{ type: 'web_search' }]

test('files and videos: every header that is sent is described, and every one described is sent', async () => {
  const form = new FormData()
  form.set('purpose', 'vision')
  form.set('file', new Blob([await samplePicture('png')]), 'a.png')
  const file = await asBoth('POST /v1/files', '/v1/files', (headers) => ({ method: 'POST', headers, body: form }))
  const { id } = file.json
  for (const [name, path] of [
    ['GET /v1/files', '/v1/files'],
    ['GET /v1/files/{file_id}', `/v1/files/${id}`],
    ['GET /v1/videos', '/v1/videos'],
    ['GET /v1/videos/models', '/v1/videos/models'],
    ['GET /v1/models', '/v1/models'],
  ] as const)
    await asBoth(name, path, (headers) => ({ headers }))
  await readBytes('GET /v1/files/{file_id}/content', `/v1/files/${id}/content`)

  const create = (headers: Record<string, string>) => json({ ...headers, 'idempotency-key': 'once' }, videoBody())
  const made = await asBoth('POST /v1/videos', '/v1/videos', create)
  assert.equal((await call('POST /v1/videos', '/v1/videos', create(key()))).headers.has('idempotent-replayed'), true)
  const path = `/v1/videos/${made.json.id}`
  const [read, content] = ['GET /v1/videos/{video_id}', 'GET /v1/videos/{video_id}/content']
  const { headers } = await asBoth(read, path, (headers) => ({ headers }))
  for (const who of [key(), browser()]) {
    const same = await call(read, path, { headers: { ...who, 'if-none-match': headers.get('etag')! } })
    assert.equal(same.status, 304)
  }
  await app.tick()
  await asBoth(read, path, (headers) => ({ headers }))
  await readBytes(content, `${path}/content`)
  assert.deepEqual(unseen('success'), [])
})

async function readBytes(name: string, path: string): Promise<void> {
  for (const who of [key(), browser()]) {
    const whole = await call(name, path, { headers: who })
    const etag = whole.headers.get('etag')!
    const statuses: number[] = []
    const conditions: Array<[name: string, value: string]> = [
      ['range', 'bytes=0-3'],
      ['if-none-match', etag],
      ['range', 'bytes=99999999-'],
    ]
    for (const condition of conditions)
      statuses.push((await call(name, path, { headers: [...Object.entries(who), condition] })).status)
    assert.deepEqual(statuses, [206, 304, 416])
  }
}

test('chat and responses, plain and streamed: every header that is sent is described, and every one described is sent', async () => {
  const messages = [{ role: 'user', content: 'Hi' }]
  for (const stream of [false, true]) {
    const chat = { model: 'sandbox-1', messages, stream }
    await asBoth('POST /v1/chat/completions', '/v1/chat/completions', (headers) => json(headers, chat))
    const asked = { model: 'sandbox-1', input: [...messages, { type: 'mcp_call' }], stream, tools: TOOLS }
    const { status } = await asBoth('POST /v1/responses', '/v1/responses', (headers) => json(headers, asked))
    assert.equal(status, 200)
  }
  const made = await call('POST /v1/responses', '/v1/responses', json(key(), { model: 'sandbox-1', input: 'Hi' }))
  const read = 'GET /v1/responses/{response_id}'
  for (const query of ['', '?stream=true'])
    await asBoth(read, `/v1/responses/${made.json.id}${query}`, (headers) => ({ headers }))
  assert.deepEqual(unseen('success'), [])
})

test('the console: every header that is sent is described, and every one described is sent', async () => {
  const here = { origin: app.url }
  const colleague = await newColleague(app, person.org_id)
  await call('GET /console/site', '/console/site')
  const sign_in = json(here, { email: colleague.email, password: PASSWORD })
  const { headers } = await call('POST /console/auth/sign-in/email', '/console/auth/sign-in/email', sign_in)
  const cookie = headers.getSetCookie()[0]!.split(';', 1)[0]!
  for (const path of ['session', 'balance', 'ledger', 'ledger.csv', 'usage.csv', 'events', 'profile'])
    await call(`GET /console/${path}`, `/console/${path}`, { headers: browser() })
  const password = json({ ...here, cookie }, { current_password: PASSWORD, new_password: `${PASSWORD} again` })
  const changed = await call('POST /console/password', '/console/password', password)
  assert.equal(changed.status, 200, changed.text)
  await call('POST /console/auth/sign-out', '/console/auth/sign-out', { method: 'POST', headers: here })
  const begun = await call('GET /console/auth/oidc', '/console/auth/oidc')
  assert.equal(begun.status, 302)
  await call('GET /console/auth/oidc/callback', '/console/auth/oidc/callback?error=access_denied')
  // Set where a sign-in ends well: test/http/console/oidc.test.ts.
  assert.deepEqual(
    unseen('success').filter((each) => each !== 'GET /console/auth/oidc/callback 302: set-cookie'),
    [],
  )
})

test('errors: every header that is sent is described, and every one described is sent', async () => {
  const newcomer = await newCustomer(app, { agreed: false })
  const { json: job } = await call('POST /v1/videos', '/v1/videos', json(key(), videoBody()))
  const calls: ReadonlyArray<readonly [name: string, path: string, init: RequestInit, status: number]> = [
    ['GET /v1/videos', '/v1/videos?limit=0', { headers: key() }, 400],
    ['GET /v1/videos', '/v1/videos', {}, 401],
    ['POST /v1/videos/acceptance', '/v1/videos/acceptance', json(key(), {}), 403],
    ['POST /v1/videos', '/v1/videos', json({ authorization: `Bearer ${newcomer.key}` }, videoBody()), 403],
    ['GET /v1/videos/{video_id}', '/v1/videos/video_none', { headers: key() }, 404],
    ['GET /v1/responses', '/v1/responses', { headers: key() }, 405],
    ['POST /v1/videos/acceptance', '/v1/videos/acceptance', json(browser(), { terms_version: 'older' }), 409],
    ['DELETE /v1/videos/{video_id}', `/v1/videos/${job.id}`, { method: 'DELETE', headers: key() }, 409],
    [
      'POST /v1/videos',
      '/v1/videos',
      { method: 'POST', headers: { ...key(), 'content-type': 'text/plain' }, body: 'x' },
      415,
    ],
    ['POST /v1/responses', '/v1/responses', json(key(), { model: 'none', input: 'Hi', tools: TOOLS }), 404],
    ['POST /v1/videos', '/v1/videos', json({ ...key(), 'idempotency-key': 'twice' }, videoBody()), 200],
    ['POST /v1/videos', '/v1/videos', json({ ...key(), 'idempotency-key': 'twice' }, videoBody({ seconds: 5 })), 422],
    ['POST /v1/videos', '/v1/videos', json(key(), videoBody()), 429],
  ]
  for (const [name, path, init, status] of calls) {
    const answer = await call(name, path, init)
    assert.equal(answer.status, status, `${name}: ${answer.text}`)
  }
  // Set once a model was asked, so that only later errors have it.
  assert.deepEqual(unseen('error', 'x-dropped-tools', 'x-dropped-items'), [])
})
