import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { sql } from 'kysely'
import { codeOf } from '../support/data/totp.ts'
import { startApp, type TestApp } from '../support/http/app.ts'
import {
  browserOf,
  cookieOf,
  newOrganization,
  newPerson,
  PASSWORD,
  type Person,
  signInAs,
} from '../support/http/people.ts'
import { type HttpResponse, send } from '../support/http/send.ts'
import { challenged, forgetCodes, type Protected, protectedPerson, secondStep } from '../support/http/two-factor.ts'
import { changeSecret, type SecretChange } from '../support/sites/secret-change.ts'

let old: TestApp
let org: string
let change: SecretChange
before(async () => {
  old = await startApp()
  org = await newOrganization(old)
  change = await changeSecret(old)
})
after(async () => {
  await change.close()
  await old.close()
})
afterEach(() => sql`truncate login_attempts, two_factor_codes`.execute(old.database.db))

async function signInBy(app: TestApp, person: Person, proof: object): Promise<HttpResponse> {
  return secondStep(app, await challenged(app, person), proof)
}

test('a code of an app enrolled under the previous secret signs in, and then under the new secret alone', async () => {
  const person = await protectedPerson(old, org)
  const first = await signInBy(change.after, person, { code: codeOf(person.secret) })
  assert.equal(first.status, 200, JSON.stringify(first.body))
  await forgetCodes(old)
  assert.equal((await signInBy(change.settled, person, { code: codeOf(person.secret) })).status, 200)
})

test('a recovery code made under the previous secret signs in once, and the others under the new secret alone', async () => {
  const person = await protectedPerson(old, org)
  const [one, two] = person.recovery_codes
  const first = await signInBy(change.after, person, { recovery_code: one })
  assert.equal(first.status, 200, JSON.stringify(first.body))
  const state = await send(change.after, 'GET', '/console/two_factor', { cookie: cookieOf(first) })
  assert.equal(state.body.recovery_codes_left, 9)
  assert.equal((await signInBy(change.settled, person, { recovery_code: one })).status, 401)
  assert.equal((await signInBy(change.settled, person, { recovery_code: two })).status, 200)
})

test('a sign-in begun before the change can be completed after it, with a code or a recovery code', async () => {
  for (const proofOf of [
    ({ secret }: Protected) => ({ code: codeOf(secret) }),
    ({ recovery_codes }: Protected) => ({ recovery_code: recovery_codes[0] }),
  ]) {
    const person = await protectedPerson(old, org)
    const challenge = await challenged(old, person)
    const lost = await secondStep(change.settled, challenge, proofOf(person))
    assert.deepEqual([lost.status, lost.body.error.code], [401, 'missing_api_key'])
    const answer = await secondStep(change.after, challenge, proofOf(person))
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    const session = await send(change.settled, 'GET', '/console/session', { cookie: cookieOf(answer) })
    assert.equal(session.body.user.id, person.user_id)
  }
})

test('a code used before the change cannot be used again after it', async () => {
  const person = await protectedPerson(old, org)
  const challenge = await challenged(old, person)
  const code = codeOf(person.secret)
  assert.equal((await signInBy(old, person, { code })).status, 200)
  const again = await secondStep(change.after, challenge, { code })
  assert.deepEqual([again.status, again.body.error.param], [401, 'code'])
})

test('a person signed in under the previous secret can read, renew and turn off their second factor', async () => {
  const person = await protectedPerson(old, org)
  const call = (path: string, body?: object) =>
    send(change.after, body ? 'POST' : 'GET', `/console/two_factor${path}`, person.browser, body)
  const state = await call('')
  assert.deepEqual([state.status, state.body.recovery_codes_left], [200, 10])
  const renewed = await call('/recovery_codes', { password: PASSWORD, code: codeOf(person.secret) })
  assert.equal(renewed.status, 200, JSON.stringify(renewed.body))
  const [recovery_code] = renewed.body.recovery_codes
  const off = await call('/disable', { password: PASSWORD, recovery_code })
  assert.equal(off.status, 200, JSON.stringify(off.body))
})

test('an enrollment begun before the change is confirmed after it', async () => {
  const person = await newPerson(old, org)
  const browser = await browserOf(old, person)
  const { secret } = (await send(old, 'POST', '/console/two_factor', browser, { password: PASSWORD })).body
  const confirmed = await send(change.after, 'POST', '/console/two_factor/confirm', browser, { code: codeOf(secret) })
  assert.equal(confirmed.status, 200, JSON.stringify(confirmed.body))
  assert.equal(confirmed.body.recovery_codes.length, 10)
})

test('409 with an explanation, and nothing used up, for a second factor whose secret is no longer known', async () => {
  const person = await protectedPerson(old, org)
  const [one, two] = person.recovery_codes
  for (const proof of [{ code: codeOf(person.secret) }, { recovery_code: one }, { recovery_code: two }]) {
    const { status, body } = await signInBy(change.settled, person, proof)
    assert.deepEqual([status, body.error.code], [409, 'conflict'])
    assert.match(body.error.message, /cannot be read.*operator/)
  }
  for (const proof of [{ code: codeOf(person.secret) }, { recovery_code: one }])
    assert.equal((await signInBy(change.after, person, proof)).status, 200, 'known again')
})

test('failed sign-ins from before the change count after it', async () => {
  const person = await newPerson(old, org)
  for (let n = 0; n < 10; n++) await signInAs(old, person.email, 'not the password')
  assert.equal((await signInAs(change.after, person.email)).status, 429)
})
