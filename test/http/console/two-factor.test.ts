import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { sql } from 'kysely'
import { codeOf } from '../../support/data/totp.ts'
import { startApp, type TestApp } from '../../support/http/app.ts'
import {
  browserOf,
  cookieOf,
  forged,
  newOrganization,
  newPerson,
  PASSWORD,
  signInAs,
} from '../../support/http/people.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'
import { type Browser, challenged, type Protected, protectedPerson, secondStep } from '../../support/http/two-factor.ts'

let app: TestApp
let org: string

before(async () => {
  app = await startApp()
  org = await newOrganization(app)
})
after(() => app.close())
afterEach(() => sql`truncate login_attempts`.execute(app.database.db))

const enrol = (browser: Browser, password = PASSWORD) => send(app, 'POST', '/console/two_factor', browser, { password })
const confirm = (browser: Browser, code: string) => send(app, 'POST', '/console/two_factor/confirm', browser, { code })

function assertWrong(answer: HttpResponse, code: string, param: string | null): void {
  assert.equal(answer.status, 401)
  assert.deepEqual([answer.body.error.code, answer.body.error.param], [code, param])
}

test('200: a person enrols, confirms with a code and has recovery codes; every other session ends', async () => {
  const person = await newPerson(app, org)
  const [here, elsewhere] = [await browserOf(app, person), await browserOf(app, person)]
  const enrolled = await enrol(here)
  assert.equal(enrolled.status, 200)
  assert.equal(enrolled.headers.get('cache-control'), 'no-store')
  const { object, secret, uri } = enrolled.body
  assert.equal(object, 'two_factor_enrolment')
  const url = new URL(uri)
  assert.equal(
    `${url.protocol}//${url.host}${decodeURIComponent(url.pathname)}`,
    `otpauth://totp/Kinora:${person.email}`,
  )
  assert.equal(url.searchParams.get('secret'), secret)
  assert.equal((await signInAs(app, person.email)).body.object, 'console_session', 'not before it is confirmed')

  const answer = await confirm(here, codeOf(secret))
  assert.equal(answer.status, 200)
  assert.equal(new Set(answer.body.recovery_codes).size, 10)
  for (const code of answer.body.recovery_codes) assert.match(code, /^[a-km-zA-HJ-NP-Z2-9]{5}-[a-km-zA-HJ-NP-Z2-9]{5}$/)
  for (const old of [here, elsewhere]) assert.equal((await send(app, 'GET', '/console/session', old)).status, 401)
  const now = { cookie: cookieOf(answer) }
  assert.equal((await send(app, 'GET', '/console/profile', now)).body.two_factor, true)
  const state = (await send(app, 'GET', '/console/two_factor', now)).body
  assert.deepEqual(state, { object: 'two_factor', enabled: true, recovery_codes_left: 10 })
})

test('the database holds neither the secret nor a recovery code in the clear', async () => {
  const { secret, recovery_codes } = await protectedPerson(app, org)
  const { rows } = await sql`select * from two_factors`.execute(app.database.db)
  const text = JSON.stringify(rows)
  const raw = Buffer.from([...secret].map((each) => each.charCodeAt(0))).toString()
  for (const each of [secret, raw, ...recovery_codes]) assert.ok(!text.includes(each))
})

test('a right password alone opens nothing: no session, only a challenge of ten minutes', async () => {
  const person = await protectedPerson(app, org)
  const answer = await signInAs(app, person.email)
  assert.equal(answer.status, 200)
  const [cookie, ...others] = answer.headers.getSetCookie()
  assert.deepEqual(others, [])
  assert.match(cookie!, /^kinora\.two_factor=[^;]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/)
  assert.equal((await send(app, 'GET', '/console/session', { cookie: cookieOf(answer) })).status, 401)
})

test('200 in two steps, and the challenge is used up', async () => {
  const person = await protectedPerson(app, org)
  const challenge = await challenged(app, person)
  const answer = await secondStep(app, challenge, { code: codeOf(person.secret) })
  assert.equal(answer.status, 200)
  assert.equal(answer.body.user.id, person.user_id)
  assert.match(answer.headers.getSetCookie()[1]!, /^kinora\.two_factor=; Max-Age=0/)
  assert.equal((await send(app, 'GET', '/console/session', { cookie: cookieOf(answer) })).status, 200)
  assertWrong(await secondStep(app, challenge, { code: codeOf(person.secret, 1) }), 'missing_api_key', null)
})

test('401 for a code that was used before, whatever the challenge; the next one works', async () => {
  const person = await protectedPerson(app, org)
  const code = codeOf(person.secret)
  assert.equal((await secondStep(app, await challenged(app, person), { code })).status, 200)
  const second = await challenged(app, person)
  assertWrong(await secondStep(app, second, { code }), 'invalid_api_key', 'code')
  assert.equal((await secondStep(app, second, { code: codeOf(person.secret, 1) })).status, 200)
})

test('of five simultaneous attempts with one code, one signs in', async () => {
  const person = await protectedPerson(app, org)
  const challenges = await Promise.all(Array.from({ length: 5 }, () => challenged(app, person)))
  const code = codeOf(person.secret)
  const answers = await Promise.all(challenges.map((each) => secondStep(app, each, { code })))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
})

test('401 for wrong, old and future codes, and 400 for what is not a code', async () => {
  const person = await protectedPerson(app, org)
  const challenge = await challenged(app, person)
  for (const steps of [-3, 3]) {
    assertWrong(await secondStep(app, challenge, { code: codeOf(person.secret, steps) }), 'invalid_api_key', 'code')
  }
  for (const body of [{}, { code: '12345' }, { code: 123456 }, { code: '123456', recovery_code: 'x' }]) {
    assert.equal((await secondStep(app, challenge, body)).status, 400)
  }
})

test('401 for a challenge that is forged, over, or another cookie', async () => {
  const person = await protectedPerson(app, org)
  const { cookie } = await challenged(app, person)
  const code = codeOf(person.secret)
  for (const each of ['', forged(cookie), cookie.replace('two_factor', 'session_token'), 'kinora.two_factor=x.y']) {
    assertWrong(await secondStep(app, { cookie: each }, { code }), 'missing_api_key', null)
  }
  await sql`update verifications set expires_at = now() - interval '1 second'`.execute(app.database.db)
  assertWrong(await secondStep(app, { cookie }, { code }), 'missing_api_key', null)
})

test("a challenge beside another person's session signs in its own person, and ends the session", async () => {
  const [person, other] = [await protectedPerson(app, org), await newPerson(app, org)]
  const theirs = await browserOf(app, other)
  const { cookie } = await challenged(app, person)
  const both = { cookie: `${theirs.cookie}; ${cookie}` }
  const answer = await secondStep(app, both, { code: codeOf(person.secret) })
  assert.equal(answer.body.user.id, person.user_id)
  assert.equal((await send(app, 'GET', '/console/session', theirs)).status, 401)
})

test('a recovery code signs in once', async () => {
  const person = await protectedPerson(app, org)
  const [recovery_code] = person.recovery_codes
  const answer = await secondStep(app, await challenged(app, person), { recovery_code })
  assert.equal(answer.status, 200)
  const left = (await send(app, 'GET', '/console/two_factor', { cookie: cookieOf(answer) })).body.recovery_codes_left
  assert.equal(left, 9)
  assertWrong(
    await secondStep(app, await challenged(app, person), { recovery_code }),
    'invalid_api_key',
    'recovery_code',
  )
})

test('429 after ten wrong codes, spread over challenges, with the right code and the right password too', async () => {
  const person = await protectedPerson(app, org)
  for (let n = 0; n < 10; n++) {
    const challenge = await challenged(app, person)
    assertWrong(await secondStep(app, challenge, { code: String(n).padStart(6, '0') }), 'invalid_api_key', 'code')
  }
  const waiting = await signInAs(app, person.email)
  assert.equal(waiting.status, 429)
  assert.equal(waiting.body.error.code, 'rate_limit_exceeded')
})

test('a challenge ends after five wrong codes', async () => {
  const person = await protectedPerson(app, org)
  const challenge = await challenged(app, person)
  for (let n = 0; n < 5; n++) {
    assertWrong(await secondStep(app, challenge, { code: `00000${n}` }), 'invalid_api_key', 'code')
  }
  assertWrong(await secondStep(app, challenge, { code: codeOf(person.secret) }), 'missing_api_key', null)
})

test('401 with the param that is wrong, 409 when it is on already: enrolling, renewing and disabling', async () => {
  const plain = await newPerson(app, org)
  const browser = await browserOf(app, plain)
  assertWrong(await enrol(browser, 'not the password'), 'invalid_api_key', 'password')
  assert.equal((await confirm(browser, '123456')).status, 409, 'nothing enrolled')
  const { secret } = (await enrol(browser)).body
  assertWrong(await confirm(browser, codeOf(secret, 5)), 'invalid_api_key', 'code')

  const person = await protectedPerson(app, org)
  assert.equal((await enrol(person.browser)).status, 409)
  assert.equal((await confirm(person.browser, codeOf(person.secret))).status, 409)
  for (const path of ['disable', 'recovery_codes']) {
    const call = (body: object) => send(app, 'POST', `/console/two_factor/${path}`, person.browser, body)
    assertWrong(await call({ password: 'no', code: codeOf(person.secret) }), 'invalid_api_key', 'password')
    assertWrong(await call({ password: PASSWORD, code: codeOf(person.secret, 5) }), 'invalid_api_key', 'code')
    assertWrong(await call({ password: PASSWORD, recovery_code: 'x' }), 'invalid_api_key', 'recovery_code')
    assert.equal((await call({ password: PASSWORD })).body.error.param, 'code')
    assert.equal(
      (await send(app, 'POST', `/console/two_factor/${path}`, browser, { password: PASSWORD, code: '000000' })).status,
      409,
    )
  }
})

test('200 renewing recovery codes, and the old ones no longer work', async () => {
  const person = await protectedPerson(app, org)
  const body = { password: PASSWORD, code: codeOf(person.secret) }
  const answer = await send(app, 'POST', '/console/two_factor/recovery_codes', person.browser, body)
  assert.equal(answer.body.recovery_codes.length, 10)
  const challenge = await challenged(app, person)
  const [old, fresh] = [person.recovery_codes[0], answer.body.recovery_codes[0]]
  assertWrong(await secondStep(app, challenge, { recovery_code: old }), 'invalid_api_key', 'recovery_code')
  assert.equal((await secondStep(app, challenge, { recovery_code: fresh })).status, 200)
})

test('200 turning it off with password and code, or password and recovery code; other sessions end', async () => {
  for (const proof of [
    ({ secret }: Protected) => ({ code: codeOf(secret) }),
    ({ recovery_codes }: Protected) => ({ recovery_code: recovery_codes[0] }),
  ]) {
    const person = await protectedPerson(app, org)
    const other = cookieOf(await secondStep(app, await challenged(app, person), { code: codeOf(person.secret, 1) }))
    const body = { password: PASSWORD, ...proof(person) }
    const answer = await send(app, 'POST', '/console/two_factor/disable', person.browser, body)
    assert.equal(answer.status, 200)
    assert.equal((await send(app, 'GET', '/console/session', { cookie: cookieOf(answer) })).status, 200)
    for (const cookie of [other, person.browser.cookie])
      assert.equal((await send(app, 'GET', '/console/session', { cookie })).status, 401)
    assert.equal((await signInAs(app, person.email)).body.object, 'console_session')
    assert.deepEqual((await send(app, 'GET', '/console/two_factor', { cookie: cookieOf(answer) })).body, {
      object: 'two_factor',
      enabled: false,
      recovery_codes_left: null,
    })
  }
})

test('a password change keeps the second factor, and an invitation is not accepted by a password alone', async () => {
  const person = await protectedPerson(app, org)
  const change = { current_password: PASSWORD, new_password: 'another password' }
  const begun = await challenged(app, person)
  const changed = await send(app, 'POST', '/console/password', person.browser, change)
  assert.equal(changed.status, 200)
  assertWrong(await secondStep(app, begun, { code: codeOf(person.secret) }), 'missing_api_key', null)
  assert.equal((await signInAs(app, person.email, 'another password')).body.object, 'two_factor_required')

  const host = await newPerson(app, await newOrganization(app, 'Elsewhere'), 'owner')
  const invitation = { email: person.email, role: 'member' }
  const { token } = (await send(app, 'POST', '/console/invitations', await browserOf(app, host), invitation)).body
  const accept = (caller: object) =>
    send(app, 'POST', '/console/invitations/accept', caller, { token, password: 'another password' })
  assert.deepEqual((await accept({})).body, { object: 'two_factor_required' })
  const { body } = await accept({ cookie: cookieOf(changed) })
  assert.equal(body.organization.id, host.org_id)
})
