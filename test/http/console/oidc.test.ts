import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { newCustomer, type TestPerson } from '../../support/http/app.ts'
import { browserOf, newPerson, sameInAnother, signInAs } from '../../support/http/people.ts'
import { send } from '../../support/http/send.ts'
import { freshEmail, freshSubject, startOidcApp } from './oidc-app.ts'

const oidc = await startOidcApp()
const { provider, app, org, signInBy, signInElsewhere, refused, whoIs } = oidc
after(() => oidc.close())
afterEach(() => provider.behave())

test('a person is known by an address the provider vouches for, and by the subject ever after', async () => {
  const ada = await newPerson(app, org)
  const sub = freshSubject()
  const first = await signInBy({ sub, email: ada.email.toUpperCase(), email_verified: true, name: 'Other' })
  assert.equal(first.to, `${app.url}/`)
  assert.equal(first.headers.get('cache-control'), 'no-store')
  assert.match(first.cookies.find((each) => each.startsWith('kinora.oidc_state='))!, /Max-Age=0/)
  const { user, organization } = await whoIs(first.session)
  assert.deepEqual([user.id, user.name, organization.id], [ada.user_id, 'member', org])
  const moved = await signInBy({ sub, email: freshEmail(), email_verified: false })
  assert.equal((await whoIs(moved.session)).user.id, ada.user_id)
  const profile = (await send(app, 'GET', '/console/profile', { cookie: moved.session })).body
  assert.deepEqual([profile.password, profile.oidc], [false, true])
})

test('what was set up before the address was verified ends with the first sign-in: password, second factor, sessions, API keys, invitations', async () => {
  const person = await newPerson(app, org, 'owner')
  const elsewhere = await sameInAnother(app, person)
  const before = await browserOf(app, person)
  const invitation = { email: freshEmail(), role: 'admin' }
  const invited = (await send(app, 'POST', '/console/invitations', before, invitation)).body
  const sub = freshSubject()
  const { session } = await signInBy({ sub, email: person.email, email_verified: true })
  assert.equal((await send(app, 'GET', '/console/session', before)).status, 401)
  assert.equal((await signInAs(app, person.email)).status, 401)
  const enrol = await send(app, 'POST', '/console/two_factor', { cookie: session }, { password: 'x' })
  assert.equal(enrol.status, 409)
  for (const { key } of [person, elsewhere]) {
    const refused = await send(app, 'GET', '/v1/whoami', { key })
    assert.deepEqual([refused.status, refused.body.error.code], [401, 'invalid_api_key'])
  }
  const acceptance = { token: invited.token, name: 'Eve', password: 'a password of eve' }
  assert.equal((await send(app, 'POST', '/console/invitations/accept', {}, acceptance)).status, 404)
  const recorded = (await activity(session)).slice(0, 2)
  const because = { because: 'address_verified' }
  assert.deepEqual(
    recorded.map(({ action, target, details, actor }: Entry) => [action, target, details, actor.user_id]),
    [
      ['invitation.withdraw', invited.id, because, person.user_id],
      ['api_key.revoke', person.key_id, because, person.user_id],
    ],
  )
  const { key } = (await send(app, 'POST', '/console/api_keys', { cookie: session }, { name: 'mine' })).body
  await signInBy({ sub, email: person.email, email_verified: true })
  assert.equal((await send(app, 'GET', '/v1/whoami', { key })).status, 200, 'a later sign-in ends no key')
})

type Entry = { action: string; target: string; details: object; actor: { user_id: string } }

/** Who did what in the organization of a session, newest first. */
const activity = async (session: string) => (await send(app, 'GET', '/console/activity', { cookie: session })).body.data

test('a session of the browser ends, and a new one begins', async () => {
  const [person, other] = [await newPerson(app, org), await newPerson(app, org)]
  const planted = await browserOf(app, other)
  const { session } = await signInBy({ sub: freshSubject(), email: person.email, email_verified: true }, planted.cookie)
  assert.equal((await whoIs(session)).user.id, person.user_id)
  assert.equal((await send(app, 'GET', '/console/session', planted)).status, 401)
})

test('somebody new gets in by an open invitation of the address and becomes a member; the invitation is used up', async () => {
  const owner = await browserOf(app, await newPerson(app, org, 'owner'))
  const email = freshEmail()
  const { body } = await send(app, 'POST', '/console/invitations', owner, { email, role: 'admin' })
  const { session } = await signInBy({ sub: freshSubject(), email, email_verified: true, name: ' Grace Hopper ' })
  const { user, organization } = await whoIs(session)
  assert.deepEqual([user.email, user.name, organization.id, organization.role], [email, 'Grace Hopper', org, 'admin'])
  const [accepted] = await activity(session)
  assert.deepEqual([accepted.action, accepted.target, accepted.actor.email], ['invitation.accept', body.id, email])
  const again = { token: body.token, name: 'Eve', password: 'a password of eve' }
  assert.equal((await send(app, 'POST', '/console/invitations/accept', {}, again)).status, 404)

  await send(app, 'DELETE', `/console/members/${user.id}`, owner)
  const person = { sub: (await linkedSubject(user.id))!, email, email_verified: true }
  assert.equal((await signInBy(person)).to, refused('oidc_no_account'))
  await send(app, 'POST', '/console/invitations', owner, { email, role: 'member' })
  assert.equal((await whoIs((await signInBy(person)).session)).organization.role, 'member')
})

async function linkedSubject(user_id: string): Promise<string | undefined> {
  const { db } = app.database
  const login = await db.selectFrom('logins').select('account_id').where('user_id', '=', user_id).executeTakeFirst()
  return login?.account_id
}

const CHOICE = '/console/auth/oidc/invitations'
const choose = (browser: object, invitation_id: string) => send(app, 'POST', CHOICE, browser, { invitation_id })

/** Somebody whom these people invite, just back from the provider, with the cookie to choose. */
async function invitedBy(...owners: TestPerson[]) {
  const email = freshEmail()
  const invitations: string[] = []
  for (const { cookie } of owners)
    invitations.push((await send(app, 'POST', '/console/invitations', { cookie }, { email, role: 'admin' })).body.id)
  const person = { sub: freshSubject(), email, email_verified: true, name: 'Grace' }
  const { to, cookies, session } = await signInBy(person)
  assert.deepEqual([to, session], [`${app.url}/invitations/choose`, ''])
  const set_cookie = cookies.find((each) => each.startsWith('kinora.oidc_choice='))!
  return { email, person, invitations, set_cookie, browser: { cookie: set_cookie.split(';', 1)[0]! } }
}

test('somebody whom several organizations invite is asked which one to join, and is in none before that', async () => {
  const [one, other] = [await newCustomer(app), await newCustomer(app)]
  const { email, person, invitations, set_cookie, browser } = await invitedBy(one, other)
  assert.match(set_cookie, /; Max-Age=600; Path=\/console\/auth\/oidc; HttpOnly; SameSite=Lax$/)
  const { body, headers } = await send(app, 'GET', CHOICE, browser)
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.deepEqual([body.email, body.invitations.length], [email, 2])
  const { expires_at, ...newest } = body.invitations[0]
  const { name } = (await whoIs(other.cookie)).organization
  assert.deepEqual(newest, { id: invitations[1], organization: { name }, role: 'admin', invited_by: other.email })
  assert.equal(typeof expires_at, 'number')
  const { db } = app.database
  assert.equal((await db.selectFrom('users').select('id').where('email', '=', email).execute()).length, 0)

  const joined = await choose(browser, invitations[0]!)
  assert.equal(joined.status, 200)
  assert.deepEqual([joined.body.organization.id, joined.body.organizations.length], [one.org_id, 1])
  assert.ok(joined.headers.getSetCookie().some((each) => /^kinora\.oidc_choice=; Max-Age=0/.test(each)))
  const [accepted] = await activity(one.cookie)
  assert.deepEqual(
    [accepted.action, accepted.target, accepted.actor.email],
    ['invitation.accept', invitations[0], email],
  )
  assert.equal((await choose(browser, invitations[1]!)).status, 404, 'one choice, one organization')
  assert.equal((await signInBy(person)).to, `${app.url}/`)
})

test('404 for an invitation of somebody else, one that was withdrawn and one that never was; 401 without the cookie of the choice or too late', async () => {
  const [one, other] = [await newCustomer(app), await newCustomer(app)]
  const foreign = await invitedBy(one, other)
  const { invitations, browser } = await invitedBy(one, other)
  await send(app, 'DELETE', `/console/invitations/${invitations[1]}`, { cookie: other.cookie })
  const refused = await Promise.all(
    [invitations[1]!, foreign.invitations[0]!, 'inv_none'].map((id) => choose(browser, id)),
  )
  assert.deepEqual(new Set(refused.map(({ status, text }) => `${status} ${text}`)).size, 1)
  assert.equal(refused[0]!.status, 404)

  const changed = { cookie: `${browser.cookie.slice(0, -4)}AAAA` }
  for (const wrong of [{}, { cookie: 'kinora.oidc_choice=' }, changed, { cookie: one.cookie }]) {
    for (const answer of [await send(app, 'GET', CHOICE, wrong), await choose(wrong, invitations[0]!)])
      assert.deepEqual([answer.status, answer.body.error.code], [401, 'missing_api_key'])
  }
  app.clock.advance(600)
  assert.equal((await choose(browser, invitations[0]!)).status, 401)
  assert.equal((await send(app, 'GET', CHOICE, foreign.browser)).status, 401)
})

test('no one signs in without an account or an open invitation, and no account is created', async () => {
  const count = async () => (await app.database.db.selectFrom('users').select('id').execute()).length
  const before = await count()
  const { to, session } = await signInBy({ sub: freshSubject(), email: freshEmail(), email_verified: true })
  assert.deepEqual([to, session], [refused('oidc_no_account'), ''])
  assert.equal(await count(), before)
})

test('an address that the provider does not vouch for opens nothing', async () => {
  const person = await newPerson(app, org)
  const { email } = person
  const sub = freshSubject()
  for (const claims of [
    { email },
    { email, email_verified: false },
    { email, email_verified: 1 },
    {},
    { email: 5, email_verified: true },
  ]) {
    assert.equal((await signInBy({ sub, ...claims })).to, refused('oidc_no_account'))
  }
  assert.equal((await signInAs(app, email)).status, 200, 'the password is as it was')
})

test('an address that went to another person at the provider does not bring the account along', async () => {
  const { email } = await newPerson(app, org)
  await signInBy({ sub: freshSubject(), email, email_verified: true })
  assert.equal((await signInBy({ sub: freshSubject(), email, email_verified: true })).to, refused('oidc_other_account'))
})

test('what the token leaves out is taken from the user information of the same subject alone', async () => {
  const { email } = await newPerson(app, org)
  const sub = freshSubject()
  provider.conduct.userinfo = { sub: 'another', email, email_verified: true }
  const { to } = await signInElsewhere(sub)
  assert.match(to, /error=oidc_failed/)
  const unsignedJwt = ['{"alg":"none"}', JSON.stringify({ sub, email, email_verified: true }), '']
  provider.conduct.userinfo = unsignedJwt.map((part) => Buffer.from(part).toString('base64url')).join('.')
  provider.conduct.metadata = { userinfo_signing_alg_values_supported: ['none'] }
  assert.match((await signInElsewhere(sub)).to, /error=oidc_failed/)
  provider.conduct.userinfo = { sub, email, email_verified: true }
  assert.match((await signInElsewhere(sub)).to, /\/$/)
})
