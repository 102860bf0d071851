import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { systemClock } from '../../../server/platform/clock.ts'
import {
  browserOf,
  type IdentityApp,
  newOrganization,
  newPerson,
  send,
  signInAs,
  startIdentity,
} from '../../support/http/identity-app.ts'
import { type Conduct, type OidcServer, startOidcServer } from '../../support/upstream/oidc-server.ts'

let provider: OidcServer
let app: IdentityApp
let org: string
let clock = systemClock

before(async () => {
  provider = await startOidcServer({ now: () => clock.now() })
  app = await startIdentity({ oidc: provider.config })
  clock = app.clock
  org = await newOrganization(app)
})
after(async () => {
  await app.close()
  await provider.close()
})
afterEach(() => provider.behave())

const freshSubject = () => `sub-${randomBytes(6).toString('hex')}`
const freshEmail = () => `${randomBytes(6).toString('hex')}@example.com`

/** The first stop: where the browser is sent, and the cookie that it keeps. */
async function begin(at: { url: string } = app) {
  const answer = await fetch(`${at.url}/console/auth/oidc`, { redirect: 'manual' })
  assert.equal(answer.status, 302)
  const [set_cookie] = answer.headers.getSetCookie()
  return { url: answer.headers.get('location')!, set_cookie, cookie: set_cookie?.split(';', 1)[0] ?? '' }
}

/** The second stop: where the browser ends, and its session. */
async function comeBack(back: URL, cookie: string) {
  const answer = await fetch(app.url + back.pathname + back.search, { redirect: 'manual', headers: { cookie } })
  assert.equal(answer.status, 302)
  const cookies = answer.headers.getSetCookie()
  const session = cookies.find((each) => each.startsWith('kinora.session_token='))?.split(';', 1)[0] ?? ''
  return { to: answer.headers.get('location')!, cookies, session, headers: answer.headers }
}

async function signInBy(person: Record<string, unknown>, cookie = '') {
  provider.conduct.person = person
  const { url, cookie: state } = await begin()
  return comeBack(provider.authorize(url), cookie ? `${cookie}; ${state}` : state)
}

const refused = (reason: string) => `${app.url}/sign-in?error=${reason}`
const whoIs = async (session: string) => (await send(app, 'GET', '/console/session', { cookie: session })).body

test('302 to the provider with a code flow, a state, a nonce and a challenge, and a cookie for this path alone', async () => {
  const { url, set_cookie } = await begin()
  const { origin, pathname, searchParams } = new URL(url)
  assert.equal(origin + pathname, `${provider.config.issuer}/authorize`)
  const { state, nonce, code_challenge, ...rest } = Object.fromEntries(searchParams)
  assert.deepEqual(rest, {
    tenant: '1',
    response_type: 'code',
    client_id: 'kinora',
    scope: 'openid email profile',
    code_challenge_method: 'S256',
    redirect_uri: `${app.url}/console/auth/oidc/callback`,
  })
  for (const each of [state, nonce, code_challenge]) assert.match(each!, /^[\w-]{43}$/)
  assert.equal(new Set([state, nonce, code_challenge]).size, 3)
  assert.equal(set_cookie, `kinora.oidc_state=${state}; Max-Age=600; Path=/console/auth/oidc; HttpOnly; SameSite=Lax`)
})

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

test('what was chosen before the address was verified ends with the first sign-in: password, second factor, sessions', async () => {
  const person = await newPerson(app, org)
  const before = await browserOf(app, person)
  const { session } = await signInBy({ sub: freshSubject(), email: person.email, email_verified: true })
  assert.equal((await send(app, 'GET', '/console/session', before)).status, 401)
  assert.equal((await signInAs(app, person.email)).status, 401)
  const enrol = await send(app, 'POST', '/console/two_factor', { cookie: session }, { password: 'x' })
  assert.equal(enrol.status, 409)
  assert.equal((await send(app, 'GET', '/v1/whoami', { key: person.key })).status, 200)
})

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
  const { to } = await inAnotherService(sub)
  assert.match(to, /error=oidc_failed/)
  const unsignedJwt = ['{"alg":"none"}', JSON.stringify({ sub, email, email_verified: true }), '']
  provider.conduct.userinfo = unsignedJwt.map((part) => Buffer.from(part).toString('base64url')).join('.')
  provider.conduct.metadata = { userinfo_signing_alg_values_supported: ['none'] }
  assert.match((await inAnotherService(sub)).to, /error=oidc_failed/)
  provider.conduct.userinfo = { sub, email, email_verified: true }
  assert.match((await inAnotherService(sub)).to, /\/$/)
})

/** As `signInBy`, in a process that has not read the discovery document yet. */
async function inAnotherService(sub: string, oidc = provider.config) {
  const second = await startIdentity({ database: app.database, oidc })
  second.clock.set(app.clock.now())
  provider.conduct.person = { ...provider.conduct.person, sub }
  const { url, cookie } = await begin(second)
  if (url.startsWith(second.url)) {
    await second.close()
    return { to: url }
  }
  const back = provider.authorize(url)
  const answer = await fetch(second.url + back.pathname + back.search, { redirect: 'manual', headers: { cookie } })
  await second.close()
  return { to: answer.headers.get('location')! }
}

test('tokens signed with RSA, elliptic curves and Edwards curves are accepted', async () => {
  const person = { sub: freshSubject(), email: (await newPerson(app, org)).email, email_verified: true }
  for (const algorithm of ['RS256', 'ES256', 'EdDSA'] as const) {
    provider.conduct.algorithm = algorithm
    assert.equal((await signInBy(person)).to, `${app.url}/`, algorithm)
  }
})

const unsigned = (token: string) => token.replace(/[^.]+$/, '')
const changed = (token: string) => token.replace(/\.[^.]+\./, (part) => `${part.slice(0, -2)}.`)

/** Changes that make an ID token invalid at a Unix time. */
const hostile = (now: number): Readonly<Record<string, Partial<Conduct>>> => ({
  'another nonce': { claims: { nonce: 'another' } },
  'no nonce': { claims: { nonce: undefined } },
  'another audience': { claims: { aud: 'another' } },
  'several audiences without a party': { claims: { aud: ['kinora', 'another'] } },
  'another authorized party': { claims: { azp: 'another' } },
  'another issuer': { claims: { iss: 'https://evil.example' } },
  'an end in the past': { claims: { exp: now - 61 } },
  'no end': { claims: { exp: undefined } },
  'a beginning long ago': { claims: { iat: now - 700 } },
  'a beginning in the future': { claims: { iat: now + 120 } },
  'valid only later': { claims: { nbf: now + 61 } },
  'no subject': { claims: { sub: undefined } },
  'an empty subject': { claims: { sub: '' } },
  'a subject that cannot be stored': { claims: { sub: 'a\u0000b' } },
  'no signature, alg none': { algorithm: 'none' },
  'alg none with a signature': { header: { alg: 'none' } },
  'the signature cut off': { token: unsigned },
  'a signature of something else': { token: changed },
  'the public key as a secret': { algorithm: 'HS256', header: { kid: 'RS256' } },
  'the key of another algorithm': { header: { kid: 'ES256' } },
  'an unknown key': { header: { kid: 'another' } },
  'no token at all': { token: () => undefined },
  'something that is no token': { token: () => 'abc' },
  'a refusal of the code': { status: { '/token': 400 } },
})

test('302 to the sign-in page, and no session, for an ID token with anything wrong', async () => {
  const { email } = await newPerson(app, org)
  const now = Math.floor(app.clock.now().getTime() / 1000)
  for (const [name, conduct] of Object.entries(hostile(now))) {
    provider.behave()
    Object.assign(provider.conduct, conduct)
    const { to, session } = await signInBy({ sub: freshSubject(), email, email_verified: true })
    assert.deepEqual([to, session], [refused('oidc_failed'), ''], name)
  }
  provider.behave()
  assert.equal((await signInBy({ sub: freshSubject(), email, email_verified: true })).to, `${app.url}/`)
})

test('an ID token is timed by the clock of the service, with a minute of tolerance', async () => {
  const { email } = await newPerson(app, org)
  const person = { sub: freshSubject(), email, email_verified: true }
  const withTimes = (claims: Record<string, unknown>) => {
    provider.conduct.claims = claims
    return signInBy(person)
  }
  for (const days of [-1, 1]) {
    app.clock.advance(days * 86_400)
    const now = Math.floor(app.clock.now().getTime() / 1000)
    for (const claims of [{ exp: now - 59 }, { iat: now - 659 }, { iat: now + 59 }, { nbf: now + 59 }])
      assert.equal((await withTimes(claims)).to, `${app.url}/`, JSON.stringify({ days, claims }))
    for (const claims of [{ exp: now - 60 }, { iat: now - 661 }, { iat: now + 61 }, { nbf: now + 61 }])
      assert.equal((await withTimes(claims)).to, refused('oidc_failed'), JSON.stringify({ days, claims }))
    app.clock.advance(-days * 86_400)
  }
})

test('a key of the provider counts from the sign-in after it is published to the one after it is withdrawn', async () => {
  const person = { sub: freshSubject(), email: (await newPerson(app, org)).email, email_verified: true }
  const signInUnder = async (algorithm: 'RS256' | 'ES256', withdrawn: string[]) => {
    Object.assign(provider.conduct, { algorithm, withdrawn })
    return (await signInBy(person)).to
  }
  assert.equal(await signInUnder('RS256', ['ES256']), `${app.url}/`)
  assert.equal(await signInUnder('ES256', ['RS256']), `${app.url}/`)
  assert.equal(await signInUnder('RS256', ['RS256']), refused('oidc_failed'))
})

test('a state is good in its own browser, once, for ten minutes; else the code is not even looked at', async () => {
  const { email } = await newPerson(app, org)
  provider.conduct.person = { sub: freshSubject(), email, email_verified: true }
  const exchanges = () => provider.requests.filter((path) => path === '/token').length
  const before = exchanges()
  const [mine, victim] = [await begin(), await begin()]
  const back = provider.authorize(mine.url)
  const without = new URL(back)
  without.searchParams.delete('state')
  const attempts = [
    [back, victim.cookie],
    [back, ''],
    [without, mine.cookie],
    [without, 'kinora.oidc_state='],
    [provider.authorize(victim.url), mine.cookie],
  ] as const
  for (const [url, cookie] of attempts) assert.equal((await comeBack(url, cookie)).to, refused('oidc_expired'))
  assert.equal(exchanges(), before)
  assert.equal((await comeBack(back, mine.cookie)).to, `${app.url}/`)
  assert.equal((await comeBack(back, mine.cookie)).to, refused('oidc_expired'), 'replayed')

  const late = await begin()
  app.clock.advance(601)
  assert.equal((await comeBack(provider.authorize(late.url), late.cookie)).to, refused('oidc_expired'))
})

test('an answer that names another issuer, or should name one and does not, is refused before the code goes anywhere', async () => {
  const { url, cookie } = await begin()
  const back = provider.authorize(url)
  back.searchParams.set('iss', 'https://evil.example')
  const before = provider.requests.filter((path) => path === '/token').length
  assert.equal((await comeBack(back, cookie)).to, refused('oidc_failed'))
  assert.equal(provider.requests.filter((path) => path === '/token').length, before)
  provider.conduct.metadata = { authorization_response_iss_parameter_supported: true }
  assert.match((await inAnotherService(freshSubject())).to, /error=oidc_failed/)
})

test('oidc_denied when the provider sends back access_denied, oidc_failed for any other error', async () => {
  for (const [error, reason] of [
    ['access_denied', 'oidc_denied'],
    ['server_error', 'oidc_failed'],
  ] as const) {
    const { url, cookie } = await begin()
    const back = provider.authorize(url)
    back.searchParams.delete('code')
    back.searchParams.set('error', error)
    assert.equal((await comeBack(back, cookie)).to, refused(reason))
  }
})

test('oidc_unavailable for a provider that cannot be reached, oidc_failed for a document of another issuer or with unsafe endpoints', async () => {
  const of = (metadata: Record<string, unknown>) => {
    provider.conduct.metadata = metadata
    return inAnotherService(freshSubject())
  }
  assert.match((await of({ issuer: 'https://evil.example' })).to, /sign-in\?error=oidc_failed$/)
  assert.match((await of({ token_endpoint: 'http://evil.example/token' })).to, /error=oidc_failed$/)
  assert.match((await of({ jwks_uri: 'file:///etc/passwd' })).to, /error=oidc_failed$/)
  const with_slash = `${provider.config.issuer}/`
  provider.conduct.claims = { iss: with_slash }
  assert.match((await of({ issuer: with_slash })).to, /error=oidc_failed$/, 'the issuer is compared to the letter')
  const away = { ...provider.config, issuer: 'http://127.0.0.1:9' }
  assert.match((await inAnotherService(freshSubject(), away)).to, /error=oidc_unavailable$/)
})

test("the client's credential goes in the header, encoded no further than a form is", async () => {
  const { email } = await newPerson(app, org)
  assert.equal((await signInBy({ sub: freshSubject(), email, email_verified: true })).to, `${app.url}/`)
  assert.equal(provider.credentials.at(-1), 'kinora:s3cret-_.%2F%2B+%25%26')
})

test("the client's credential goes in the form where the provider takes it so", async () => {
  const { email } = await newPerson(app, org)
  provider.conduct.metadata = { token_endpoint_auth_methods_supported: ['client_secret_post'] }
  provider.conduct.person = { email, email_verified: true }
  assert.match((await inAnotherService(freshSubject())).to, /\/$/)
})

test('404 without a provider; the cookie is Secure over https', async () => {
  const plain = await startIdentity({ database: app.database })
  for (const path of ['', '/callback?state=x&code=y'])
    assert.equal((await send(plain, 'GET', `/console/auth/oidc${path}`)).body.error.code, 'unknown_url')
  await plain.close()
  const options = { database: app.database, public_url: 'https://kinora.example', oidc: provider.config }
  const secure = await startIdentity(options)
  const { set_cookie, url } = await begin(secure)
  assert.match(set_cookie!, /^__Secure-kinora\.oidc_state=.*; HttpOnly; Secure; SameSite=Lax$/)
  assert.equal(new URL(url).searchParams.get('redirect_uri'), 'https://kinora.example/console/auth/oidc/callback')
  await secure.close()
})

test('the database holds neither the state nor a token of the provider', async () => {
  const { url } = await begin()
  const state = new URL(url).searchParams.get('state')!
  const { rows } = await app.database.pool.query(
    'select (select json_agg(l) from logins l) as logins, (select json_agg(s) from oidc_sign_ins s) as begun',
  )
  const text = JSON.stringify(rows)
  assert.ok(!text.includes(state) && !text.includes('eyJ') && !text.includes('opaque'))
})
