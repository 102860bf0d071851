import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Route } from '../../server/identity/caller/route.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../support/http/app.ts'
import { rawConnection } from '../support/http/raw-http.ts'
import { type Caller, send } from '../support/http/send.ts'
import { assertRefused } from '../support/http/videos-app.ts'

/** The only routes that know no caller: each is a decision. */
const OPEN = [
  'GET /console/auth/oidc',
  'GET /console/auth/oidc/callback',
  'GET /console/auth/oidc/invitations',
  'GET /console/site',
  'GET /healthz',
  'GET /readyz',
  'GET /openapi.json',
  'GET /s/:token',
  'GET /s/:token/content',
  'GET /terms',
  'GET /v1/files/:file_id/signed',
  'GET /v1/files/:file_id/signed/:name',
  'POST /console/auth/oidc/invitations',
  'POST /console/auth/sign-in/email',
  'POST /console/auth/sign-in/two-factor',
  'POST /console/auth/sign-out',
  'POST /console/invitations/accept',
  'POST /console/invitations/preview',
]

let app: TestApp
let person: TestPerson
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
})
after(() => app.close())

const nameOf = ({ method, path }: Route) => `${method} ${path}`
const guarded = () => app.app.routes.filter(({ auth }) => auth !== 'none' && auth !== 'signed_url')
const pathOf = ({ path }: Route) => path.replace(/:\w+/g, 'x')
const call = (endpoint: Route, caller: Caller) =>
  send(app, endpoint.method, pathOf(endpoint), caller, endpoint.method === 'GET' ? undefined : {})

const UNAUTHENTICATED = { status: 401, type: 'authentication_error' }

test('the routes that need no credential are these and no others', () => {
  const open = app.app.routes.filter((each) => !guarded().includes(each)).map(nameOf)
  const known = new Set(OPEN)
  assert.deepEqual(
    open.filter((name) => !known.has(name) && !name.startsWith('GET /docs')),
    [],
  )
})

test('401 on every route without a credential', async () => {
  for (const endpoint of guarded()) {
    const answer = await call(endpoint, {})
    assertRefused(answer, { ...UNAUTHENTICATED, code: 'missing_api_key' })
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer', nameOf(endpoint))
  }
})

test('401 on every route with a key that was revoked, and with one that never existed', async () => {
  const spare = await send(app, 'POST', '/console/api_keys', { cookie: person.cookie }, { name: 'spare' })
  const key = spare.body.key
  assert.equal((await send(app, 'GET', '/v1/videos', { key })).status, 200)
  await send(app, 'DELETE', `/console/api_keys/${spare.body.id}`, { cookie: person.cookie })
  for (const endpoint of guarded()) {
    for (const wrong of [key, `kin_${'0'.repeat(36)}`, 'x']) {
      assertRefused(await call(endpoint, { key: wrong }), { ...UNAUTHENTICATED, code: 'invalid_api_key' })
      assertRefused(await call(endpoint, { key: wrong, cookie: person.cookie }), {
        ...UNAUTHENTICATED,
        code: 'invalid_api_key',
      })
    }
  }
})

test('401 on every route with a login that has ended', async () => {
  const other = await newCustomer(app)
  await send(app, 'POST', '/console/auth/sign-out', { cookie: other.cookie })
  for (const endpoint of guarded()) {
    assertRefused(await call(endpoint, { cookie: other.cookie }), { ...UNAUTHENTICATED, code: 'missing_api_key' })
  }
})

test('403 on every console route with a good API key: only a login acts there', async () => {
  const routes = guarded().filter(({ auth }) => auth === 'session')
  assert.ok(routes.length > 10)
  for (const endpoint of routes) {
    assertRefused(await call(endpoint, { key: person.key }), {
      status: 403,
      type: 'permission_error',
      code: 'console_login_required',
    })
  }
})

test('403 on every route that changes something, for a login used from another site', async () => {
  const routes = guarded().filter(({ auth, method }) => auth !== 'api_key' && method !== 'GET')
  assert.ok(routes.length > 10)
  for (const endpoint of routes) {
    const caller = { cookie: person.cookie, headers: { 'sec-fetch-site': 'cross-site' } }
    assertRefused(await call(endpoint, caller), { status: 403, type: 'permission_error', code: 'csrf_failed' })
  }
})

test('405 with the methods there are, on every path, only for callers that are known', async () => {
  const paths = new Map<string, Route[]>()
  for (const endpoint of app.app.routes) paths.set(endpoint.path, [...(paths.get(endpoint.path) ?? []), endpoint])
  for (const [path, endpoints] of paths) {
    const first = endpoints[0]!
    const method = ['PUT', 'PATCH', 'DELETE', 'OPTIONS'].find(
      (each) => !endpoints.some((endpoint) => endpoint.method === each),
    )!
    const open = first.auth === 'none' || first.auth === 'signed_url'
    const caller = open ? {} : first.auth === 'session' ? { cookie: person.cookie } : { key: person.key }
    const answer = await send(app, method, path.replace(/:\w+/g, 'video_00000000000000000000000000'), caller)
    assertRefused(answer, { status: 405, code: 'method_not_allowed' })
    const allow = new Set(endpoints.map((endpoint) => endpoint.method as string))
    if (allow.has('GET')) allow.add('HEAD')
    assert.deepEqual(new Set(answer.headers.get('allow')!.split(', ')), allow, path)
    if (!open) assert.equal((await send(app, method, path.replace(/:\w+/g, 'x'))).status, 401, path)
  }
})

test('405 for TRACE, which clients of the standard library cannot send', async (t) => {
  const connection = await rawConnection(app.url)
  t.after(() => connection.close())
  for (const [path, credential] of [
    ['/v1/models', `authorization: Bearer ${person.key}\r\n`],
    ['/v1/videos/video_00000000000000000000000000', `authorization: Bearer ${person.key}\r\n`],
    ['/console/session', `cookie: ${person.cookie}\r\n`],
    ['/healthz', ''],
  ]) {
    await connection.write(`TRACE ${path} HTTP/1.1\r\nhost: x\r\n${credential}\r\n`)
    const { status, headers, body } = await connection.answer()
    assert.equal(status, 405, `${path}: ${body}`)
    assert.match(headers.allow!, /\bGET\b/)
  }
})

test('415 on every route with a JSON body for one of another type, before its shape is looked at', async () => {
  const routes = app.app.routes.filter(({ body, accepts }) => body && (accepts ?? ['json']).includes('json'))
  for (const endpoint of routes) {
    const credential: Record<string, string> =
      endpoint.auth === 'session' ? { cookie: person.cookie } : { authorization: `Bearer ${person.key}` }
    const headers = { ...credential, 'content-type': 'text/plain' }
    const answer = await fetch(app.url + pathOf(endpoint), { method: endpoint.method, headers, body: '{}' })
    assert.equal(answer.status, 415, nameOf(endpoint))
    await answer.body?.cancel()
  }
})
