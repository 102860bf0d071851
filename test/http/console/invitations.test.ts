import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { startApp, type TestApp } from '../../support/http/app.ts'
import {
  browserOf,
  cookieOf,
  newOrganization,
  newPerson,
  PASSWORD,
  type Person,
  signInAs,
  whoAmI,
} from '../../support/http/people.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'

let app: TestApp
let org: string
let owner: Person
let browser: { cookie: string }
let count = 0

before(async () => {
  app = await startApp({ endpoints: [whoAmI] })
  org = await newOrganization(app)
  owner = await newPerson(app, org, 'owner')
  browser = await browserOf(app, owner)
})
after(() => app.close())

const freshEmail = () => `guest-${count++}@example.com`
const invite = (email: string, role = 'member', by = browser) =>
  send(app, 'POST', '/console/invitations', by, { email, role })
const accept = (body: Record<string, unknown>, by: { cookie?: string } = {}): Promise<HttpResponse> =>
  send(app, 'POST', '/console/invitations/accept', by, body)

test('200 with a link to pass on; the secret is shown once and stored nowhere', async () => {
  const email = freshEmail()
  const { status, body } = await invite(email.toUpperCase(), 'admin')
  assert.equal(status, 200)
  const { token, accept_url, id, ...rest } = body
  assert.equal(accept_url, `${app.url}/invitations/accept#token=${token}`)
  const now = Math.floor(app.clock.now().getTime() / 1000)
  const times = { created_at: now, expires_at: now + 7 * 86_400 }
  assert.deepEqual(rest, {
    object: 'invitation',
    email,
    role: 'admin',
    status: 'pending',
    invited_by: owner.user_id,
    ...times,
  })
  const listed = (await send(app, 'GET', '/console/invitations', browser)).body
  assert.ok(listed.data.some((each: { id: string }) => each.id === id))
  const { rows } = await sql`select * from invitations`.execute(app.database.db)
  assert.ok(!JSON.stringify([listed, rows]).includes(token))
})

test('a new person accepts with a name and a password, is signed in, and may sign in again', async () => {
  const email = freshEmail()
  const { token } = (await invite(email, 'admin')).body
  const answer = await accept({ token, name: 'Grace', password: 'a good password' })
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.body.organization, { id: org, name: 'Acme', role: 'admin' })
  assert.equal(answer.body.user.name, 'Grace')
  const who = await send(app, 'GET', '/v1/whoami', { cookie: cookieOf(answer) })
  assert.deepEqual([who.body.org_id, who.body.role, who.body.via], [org, 'admin', 'session'])
  assert.equal((await signInAs(app, email, 'a good password')).status, 200)
})

test('400 names what a new person still has to choose, and leaves the invitation open', async () => {
  const { token } = (await invite(freshEmail())).body
  assert.equal((await accept({ token })).body.error.param, 'name')
  assert.equal((await accept({ token, name: 'G' })).body.error.param, 'password')
  assert.equal((await accept({ token, name: 'G', password: 'short' })).body.error.param, 'password')
  assert.equal((await accept({ token, name: 'G', password: PASSWORD })).status, 200)
})

test('somebody who has an account accepts by being signed in, and the session moves over', async () => {
  const guest = await newPerson(app, await newOrganization(app, 'Home'))
  const theirs = await browserOf(app, guest)
  const { token } = (await invite(guest.email)).body
  const answer = await accept({ token }, theirs)
  assert.equal(answer.body.organization.id, org)
  assert.deepEqual(answer.headers.getSetCookie(), [])
  assert.equal((await send(app, 'GET', '/v1/whoami', theirs)).body.org_id, org)
})

test('somebody who has an account and is not signed in needs its password; an invitation never sets one', async () => {
  const guest = await newPerson(app, await newOrganization(app, 'Home'))
  const { token } = (await invite(guest.email)).body
  assert.equal((await accept({ token })).body.error.param, 'password')
  assert.equal((await accept({ token, name: 'Eve', password: 'chosen by another' })).status, 401)
  assert.equal((await accept({ token }, browser)).status, 400)
  assert.equal((await signInAs(app, guest.email, 'chosen by another')).status, 401)
  const answer = await accept({ token, password: PASSWORD })
  assert.equal(answer.body.organization.id, org)
  assert.equal(answer.body.user.name, 'member')
})

test('somebody who had been removed everywhere comes back by an invitation', async () => {
  const guest = await newPerson(app, org)
  await send(app, 'DELETE', `/console/members/${guest.user_id}`, browser)
  const { token } = (await invite(guest.email)).body
  assert.equal((await accept({ token, password: PASSWORD })).body.organization.id, org)
  assert.equal((await send(app, 'GET', '/v1/whoami', { key: guest.key })).status, 401)
})

test('404, the same for a used, withdrawn, replaced, expired, and unknown invitation', async () => {
  const guest = { name: 'G', password: PASSWORD }
  const used = (await invite(freshEmail())).body.token
  await accept({ token: used, ...guest })
  const withdrawn = (await invite(freshEmail())).body
  assert.equal((await send(app, 'DELETE', `/console/invitations/${withdrawn.id}`, browser)).status, 200)
  const email = freshEmail()
  const replaced = (await invite(email)).body.token
  const expired = (await invite(email)).body.token
  const bodies = new Set<string>()
  const refuse = async (token: string) => {
    const answer = await accept({ token, ...guest })
    assert.equal(answer.status, 404)
    bodies.add(JSON.stringify(answer.body))
  }
  for (const token of [used, withdrawn.token, replaced, 'inv_unknown']) await refuse(token)
  app.clock.advance(7 * 86_400)
  await refuse(expired)
  assert.equal(bodies.size, 1)
  browser = await browserOf(app, owner)
})

test('200 preview: the holder of an invitation learns to where and for which address it is, and joins nothing', async () => {
  const email = freshEmail()
  const { token, expires_at } = (await invite(email, 'admin')).body
  const preview = () => send(app, 'POST', '/console/invitations/preview', {}, { token })
  const expected = { object: 'invitation_preview', organization: { name: 'Acme' }, email, role: 'admin', expires_at }
  assert.deepEqual((await preview()).body, { ...expected, has_account: false })
  assert.equal((await accept({ token, name: 'G', password: PASSWORD })).status, 200)
  assert.equal((await preview()).status, 404)
  const known = await newPerson(app, await newOrganization(app, 'Home'))
  const { body } = await invite(known.email)
  const answer = await send(app, 'POST', '/console/invitations/preview', {}, { token: body.token })
  assert.deepEqual([answer.body.email, answer.body.has_account], [known.email, true])
  assert.equal(answer.headers.get('cache-control'), 'no-store')
})

test('404 preview, the same as on acceptance, for an invitation that is not open', async () => {
  const unknown = await send(app, 'POST', '/console/invitations/preview', {}, { token: 'inv_unknown' })
  assert.deepEqual([unknown.status, unknown.body], [404, (await accept({ token: 'inv_unknown' })).body])
})

test('an invitation accepted ten times at once makes one membership', async () => {
  const { token } = (await invite(freshEmail())).body
  const answers = await Promise.all(Array.from({ length: 10 }, () => accept({ token, name: 'G', password: PASSWORD })))
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  for (const { status } of answers) assert.ok(status === 200 || status === 404, String(status))
})

test('of two invitations of one new address accepted at once one creates the account, the other is a conflict', async () => {
  const rival = await newPerson(app, await newOrganization(app, 'Rival'), 'owner')
  const email = freshEmail()
  const tokens = [
    (await invite(email)).body.token,
    (await invite(email, 'member', await browserOf(app, rival))).body.token,
  ]
  const answers = await Promise.all(tokens.map((token) => accept({ token, name: 'G', password: PASSWORD })))
  const refused = answers.filter(({ status }) => status !== 200)
  assert.ok(refused.length <= 1)
  for (const { status } of refused) assert.equal(status, 409)
  for (const token of tokens) await accept({ token, password: PASSWORD })
  assert.equal((await signInAs(app, email)).body.organizations.length, 2)
})

test('409 for somebody who is already a member, 400 for an invalid address or role', async () => {
  assert.equal((await invite(owner.email)).status, 409)
  for (const [email, role] of [
    ['nobody', 'member'],
    ['a@b', 'member'],
    ['a@example.com', 'god'],
    ['a@example.com\n', 'member'],
  ] as const) {
    assert.equal((await invite(email, role)).status, 400, email)
  }
})

test('404 when another organization withdraws it, and it stays open', async () => {
  const rival = await newPerson(app, await newOrganization(app, 'Rival'), 'owner')
  const theirs = await browserOf(app, rival)
  const { id, token } = (await invite(freshEmail())).body
  const foreign = await send(app, 'DELETE', `/console/invitations/${id}`, theirs)
  const missing = await send(app, 'DELETE', '/console/invitations/inv_00000000000000000000000000', theirs)
  assert.equal(foreign.status, 404)
  assert.deepEqual(foreign.body, missing.body)
  assert.deepEqual((await send(app, 'GET', '/console/invitations', theirs)).body.data, [])
  assert.equal((await accept({ token, name: 'G', password: PASSWORD })).status, 200)
})

test('the open invitations of a removed person end with them', async () => {
  const admin = await newPerson(app, org, 'admin')
  const { token } = (await invite(freshEmail(), 'member', await browserOf(app, admin))).body
  await send(app, 'DELETE', `/console/members/${admin.user_id}`, browser)
  assert.equal((await accept({ token, name: 'G', password: PASSWORD })).status, 404)
})
