import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { startApp, type TestApp } from '../../support/http/app.ts'
import {
  browserOf,
  cookieOf,
  forged,
  newOrganization,
  newPerson,
  PASSWORD,
  type Person,
  signInAs,
  whoAmI,
} from '../../support/http/people.ts'
import { send } from '../../support/http/send.ts'

let app: TestApp
let org: string
let ada: Person

before(async () => {
  app = await startApp({ endpoints: [whoAmI] })
  org = await newOrganization(app)
  ada = await newPerson(app, org, 'owner')
})
after(() => app.close())

test('200 and a cookie no script can read, for this site alone', async () => {
  const answer = await signInAs(app, ada.email)
  assert.equal(answer.status, 200)
  const [cookie, ...others] = answer.headers.getSetCookie()
  assert.deepEqual(others, [])
  assert.match(cookie!, /^kinora\.session_token=[^;]{60,}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.deepEqual(answer.body, {
    object: 'console_session',
    user: { id: ada.user_id, email: ada.email, name: 'owner' },
    organization: { id: org, name: 'Acme', role: 'owner' },
    organizations: [{ id: org, name: 'Acme', role: 'owner' }],
    expires_at: Math.floor(app.clock.now().getTime() / 1000) + 12 * 3600,
  })
})

test('200 with a cookie that is Secure when the service is reached over https', async () => {
  const secure = await startApp({ beside: app, config: 'public_url: https://kinora.example' })
  const answer = await signInAs(secure, ada.email)
  assert.match(answer.headers.getSetCookie()[0]!, /^__Secure-kinora\.session_token=.*; HttpOnly; Secure; SameSite=Lax$/)
  assert.equal((await send(secure, 'GET', '/console/session', { cookie: cookieOf(answer) })).status, 200)
  await secure.close()
})

test('200 whatever the case of the email', async () => {
  assert.equal((await signInAs(app, ada.email.toUpperCase())).status, 200)
})

test('401 with one text for an unknown email, a wrong password and an address that cannot be one', async () => {
  const texts = new Set<string>()
  for (const [email, password] of [
    [ada.email, 'wrong password'],
    ['nobody@example.com', PASSWORD],
    ['not an email', PASSWORD],
    [ada.email, 'x'.repeat(500)],
    [ada.email, ''],
  ] as const) {
    const answer = await signInAs(app, email, password)
    assert.equal(answer.status, 401)
    assert.deepEqual(answer.headers.getSetCookie(), [])
    texts.add(JSON.stringify(answer.body))
  }
  assert.equal(texts.size, 1)
  await sql`truncate login_attempts`.execute(app.database.db)
})

test('400 for a body that is not an email and a password and nothing else', async () => {
  for (const body of [
    {},
    { email: ada.email },
    { email: ada.email, password: 5 },
    { email: ada.email, password: PASSWORD, role: 'x' },
  ]) {
    const answer = await send(app, 'POST', '/console/auth/sign-in/email', {}, body)
    assert.equal(answer.status, 400)
    assert.equal(typeof answer.body.error.code, 'string')
  }
})

test('401 without a cookie, with a forged one, and with the token of one whose signature is cut off', async () => {
  const { cookie } = await browserOf(app, ada)
  const [name, value] = cookie.split('=') as [string, string]
  const token = decodeURIComponent(value).split('.')[0]
  const wrong = [`${name}=${token}`, `${name}=${token}.`, `${name}=`, `${name}=%`, forged(cookie), 'other=1']
  for (const each of wrong) {
    const answer = await send(app, 'GET', '/console/session', { cookie: each })
    assert.equal(answer.status, 401)
    assert.equal(answer.body.error.code, 'missing_api_key')
  }
  assert.equal((await send(app, 'GET', '/console/session', { cookie })).status, 200)
  assert.equal((await send(app, 'GET', '/console/session')).status, 401)
})

test('401 says that the session has ended where a cookie of ours is no longer valid, and that no credential was given where there is none', async () => {
  const browser = await browserOf(app, ada)
  await send(app, 'POST', '/console/auth/sign-out', browser)
  const [name] = browser.cookie.split('=')
  for (const path of ['/console/session', '/v1/whoami']) {
    for (const cookie of [browser.cookie, forged(browser.cookie), `${name}=x`, `theme=dark; ${browser.cookie}`]) {
      const { status, body } = await send(app, 'GET', path, { cookie })
      assert.deepEqual([status, body.error.code], [401, 'missing_api_key'])
      assert.match(body.error.message, /^Your session has ended\. Sign in to the console again/)
    }
    for (const cookie of [undefined, 'theme=dark', `${name}=`, `x${browser.cookie}`]) {
      const { status, body } = await send(app, 'GET', path, cookie === undefined ? {} : { cookie })
      assert.deepEqual([status, body.error.code], [401, 'missing_api_key'])
      assert.match(body.error.message, /^No credential was given\./)
    }
  }
})

test('403 console_login_required for an API key, even with a valid cookie beside it', async () => {
  const { cookie } = await browserOf(app, ada)
  for (const path of ['/console/session', '/console/api_keys', '/console/members']) {
    const answer = await send(app, 'GET', path, { key: ada.key, cookie })
    assert.equal(answer.status, 403)
    assert.equal(answer.body.error.code, 'console_login_required')
  }
})

test('each sign-in makes a new session and ends the one the browser had', async () => {
  const first = await browserOf(app, ada)
  const answer = await signInAs(app, ada.email, PASSWORD, first)
  assert.notEqual(cookieOf(answer), first.cookie)
  assert.equal((await send(app, 'GET', '/console/session', first)).status, 401)
  assert.equal((await send(app, 'GET', '/console/session', { cookie: cookieOf(answer) })).status, 200)
})

test('a session fixed by somebody else does not become the person’s', async () => {
  const eve = await newPerson(app, org)
  const planted = await browserOf(app, eve)
  const answer = await signInAs(app, ada.email, PASSWORD, planted)
  assert.notEqual(cookieOf(answer), planted.cookie)
  assert.equal((await send(app, 'GET', '/console/session', planted)).status, 401)
})

test('200 on sign-out, and the session is over at once and for good', async () => {
  const browser = await browserOf(app, ada)
  const answer = await send(app, 'POST', '/console/auth/sign-out', browser)
  assert.deepEqual(answer.body, { success: true })
  assert.match(answer.headers.getSetCookie()[0]!, /^kinora\.session_token=;.*Path=\/.*/)
  assert.equal((await send(app, 'GET', '/console/session', browser)).status, 401)
  assert.equal((await send(app, 'POST', '/console/auth/sign-out')).status, 200)
})

test('the database holds no token that a cookie carries', async () => {
  const { cookie } = await browserOf(app, ada)
  const token = decodeURIComponent(cookie.split('=')[1]!).split('.')[0]!
  const { rows } = await sql<{ token: string }>`select token from sessions`.execute(app.database.db)
  assert.ok(rows.length > 0)
  for (const row of rows) assert.match(row.token, /^[0-9a-f]{64}$/)
  assert.ok(!JSON.stringify(rows).includes(token))
})

test('401 after 12 hours without a request; use within them keeps the session to the end of its 7 days', async () => {
  const idle = await browserOf(app, ada)
  const used = await browserOf(app, ada)
  for (let hours = 11; hours < 7 * 24; hours += 11) {
    app.clock.advance(11 * 3600)
    assert.equal((await send(app, 'GET', '/console/session', used)).status, 200, `after ${hours} hours of use`)
    if (hours > 12) assert.equal((await send(app, 'GET', '/console/session', idle)).status, 401)
  }
  const { body } = await send(app, 'GET', '/console/session', used)
  app.clock.set(new Date(body.expires_at * 1000 - 1000))
  assert.equal((await send(app, 'GET', '/console/session', used)).status, 200)
  app.clock.advance(2)
  assert.equal((await send(app, 'GET', '/console/session', used)).status, 401)
})

test('404 for every route of the login library that the console does not use', async () => {
  const { cookie } = await browserOf(app, ada)
  const paths = [
    'sign-up/email',
    'get-session',
    'organization/create',
    'update-user',
    'ok',
    'list-sessions',
    'api-key/create',
  ]
  for (const path of [...paths, 'request-password-reset', 'sign-in/social', 'change-password', '']) {
    for (const method of ['GET', 'POST']) {
      const answer = await send(app, method, `/console/auth/${path}`, { cookie }, method === 'POST' ? {} : undefined)
      assert.equal(answer.status, 404, path)
      assert.equal(answer.body.error.code, 'unknown_url')
    }
  }
})

test('200 on a password change; the old password and every other session are over', async () => {
  const bob = await newPerson(app, org)
  const here = await browserOf(app, bob)
  const elsewhere = await browserOf(app, bob)
  const wrong = { current_password: 'not this one', new_password: 'a new password' }
  assert.equal((await send(app, 'POST', '/console/password', here, wrong)).status, 401)
  const change = { current_password: PASSWORD, new_password: 'a new password' }
  const answer = await send(app, 'POST', '/console/password', here, change)
  assert.equal(answer.status, 200)
  assert.equal((await send(app, 'GET', '/console/session', { cookie: cookieOf(answer) })).status, 200)
  for (const old of [here, elsewhere]) assert.equal((await send(app, 'GET', '/console/session', old)).status, 401)
  assert.equal((await signInAs(app, bob.email)).status, 401)
  assert.equal((await signInAs(app, bob.email, 'a new password')).status, 200)
})

test('a session switches between organizations of the person; 404 for any other, the same for one that does not exist', async () => {
  const second = await newOrganization(app, 'Second')
  const foreign = await newOrganization(app, 'Foreign')
  const { db } = app.database
  await sql`insert into members values ('mem_1', ${second}, ${ada.user_id}, 'member', now())`.execute(db)
  const browser = await browserOf(app, ada)
  const switchTo = (organization_id: string) =>
    send(app, 'POST', '/console/session/organization', browser, { organization_id })
  const answer = await switchTo(second)
  assert.deepEqual(answer.body.organization, { id: second, name: 'Second', role: 'member' })
  assert.equal((await send(app, 'GET', '/v1/whoami', browser)).body.org_id, second)
  const [denied, missing] = [await switchTo(foreign), await switchTo('org_00000000000000000000000000')]
  assert.equal(denied.status, 404)
  assert.deepEqual(denied.body, missing.body)
  assert.equal((await send(app, 'GET', '/v1/whoami', browser)).body.org_id, second)
})

test('no cache keeps what a cookie asked for: lists of the console and of the API alike', async () => {
  const browser = await browserOf(app, ada)
  for (const path of ['/console/profile', '/console/api_keys', '/console/members', '/v1/whoami']) {
    const { status, headers } = await send(app, 'GET', path, browser)
    assert.deepEqual([status, headers.get('cache-control')], [200, 'private, no-store'], path)
  }
})
