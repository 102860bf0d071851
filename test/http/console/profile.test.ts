import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startApp, type TestApp } from '../../support/http/app.ts'
import { browserOf, newOrganization, newPerson, type Person } from '../../support/http/people.ts'
import { send } from '../../support/http/send.ts'

let app: TestApp
let org: string
let ada: Person

before(async () => {
  app = await startApp()
  org = await newOrganization(app)
  ada = await newPerson(app, org)
})
after(() => app.close())

const sessionsOf = async (browser: { cookie: string }) =>
  (await send(app, 'GET', '/console/sessions', browser)).body.data

test('200: a person reads and changes their own name, in every organization and for no one else', async () => {
  const browser = await browserOf(app, ada)
  const colleague = await browserOf(app, await newPerson(app, org))
  const { body } = await send(app, 'GET', '/console/profile', browser)
  const { user_id: id, email } = ada
  const ways = { password: true, oidc: false, two_factor: false }
  assert.deepEqual(body, { object: 'profile', id, email, name: 'member', ...ways })
  const changed = await send(app, 'PATCH', '/console/profile', browser, { name: 'Ada Lovelace' })
  assert.deepEqual(changed.body, { ...body, name: 'Ada Lovelace' })
  assert.equal((await send(app, 'GET', '/console/session', browser)).body.user.name, 'Ada Lovelace')
  assert.equal((await send(app, 'GET', '/console/profile', colleague)).body.name, 'member')
})

test('400 for a name that is empty or too long, and for what a person may not change of themselves', async () => {
  const browser = await browserOf(app, ada)
  for (const body of [{}, { name: '' }, { name: 'x'.repeat(101) }, { name: 'A', email: 'eve@example.com' }]) {
    assert.equal((await send(app, 'PATCH', '/console/profile', browser, body)).status, 400)
  }
})

test('200: the list of sessions names the present one, what each browser called itself, and when it ends', async () => {
  const person = await newPerson(app, org)
  const elsewhere = await browserOf(app, person)
  const headers = { 'user-agent': 'Firefox on a telephone' }
  const credentials = { email: person.email, password: 'correct horse battery' }
  await send(app, 'POST', '/console/auth/sign-in/email', { headers }, credentials)
  const list = await sessionsOf(elsewhere)
  assert.equal(list.length, 2)
  const [newest, own] = list
  assert.deepEqual([newest.current, own.current], [false, true])
  assert.equal(newest.user_agent, 'Firefox on a telephone')
  const now = Math.floor(app.clock.now().getTime() / 1000)
  assert.match(newest.id, /^ses_/)
  const { id: _, user_agent: __, ...rest } = newest
  assert.deepEqual(rest, {
    object: 'login_session',
    current: false,
    organization_id: org,
    created_at: now,
    last_used_at: now,
    expires_at: now + 12 * 3600,
  })
  assert.ok(!JSON.stringify(list).includes('token'))
})

test('200 ending one session: it is over at once, the others go on', async () => {
  const person = await newPerson(app, org)
  const [here, there] = [await browserOf(app, person), await browserOf(app, person)]
  const [{ id }] = (await sessionsOf(here)).filter(({ current }: { current: boolean }) => !current)
  const answer = await send(app, 'DELETE', `/console/sessions/${id}`, here)
  assert.deepEqual(answer.body, { id, object: 'login_session', deleted: true })
  assert.equal((await send(app, 'GET', '/console/session', there)).status, 401)
  assert.equal((await send(app, 'GET', '/console/session', here)).status, 200)
})

test('200 ending the other sessions: this one continues, and those of other people are untouched', async () => {
  const person = await newPerson(app, org)
  const bystander = await browserOf(app, ada)
  const [here, ...others] = [await browserOf(app, person), await browserOf(app, person), await browserOf(app, person)]
  const answer = await send(app, 'DELETE', '/console/sessions', here)
  assert.deepEqual(answer.body, { object: 'login_sessions_ended', count: 2 })
  for (const other of others) assert.equal((await send(app, 'GET', '/console/session', other)).status, 401)
  for (const going of [here, bystander]) assert.equal((await send(app, 'GET', '/console/session', going)).status, 200)
})

test("404, the same for another person's session, a colleague's too, and for none; it goes on", async () => {
  const [colleague, mine] = [await browserOf(app, ada), await browserOf(app, await newPerson(app, org, 'owner'))]
  const [{ id }] = await sessionsOf(colleague)
  const foreign = await send(app, 'DELETE', `/console/sessions/${id}`, mine)
  const missing = await send(app, 'DELETE', '/console/sessions/ses_00000000000000000000000000', mine)
  assert.equal(foreign.status, 404)
  assert.deepEqual(foreign.body, missing.body)
  assert.equal((await send(app, 'GET', '/console/session', colleague)).status, 200)
})

test('a session that has been idle too long is not listed', async () => {
  const person = await newPerson(app, org)
  await browserOf(app, person)
  app.clock.advance(12 * 3600)
  const list = await sessionsOf(await browserOf(app, person))
  assert.equal(list.length, 1)
})

test('401 with the param, not as if the session were over, for a wrong present password', async () => {
  const browser = await browserOf(app, await newPerson(app, org))
  const change = { current_password: 'not this one', new_password: 'a new password' }
  const { status, body } = await send(app, 'POST', '/console/password', browser, change)
  assert.equal(status, 401)
  const { message, code, param } = body.error
  assert.deepEqual(
    { message, code, param },
    { message: 'Wrong password.', code: 'invalid_api_key', param: 'current_password' },
  )
  assert.equal((await send(app, 'GET', '/console/session', browser)).status, 200)
})
