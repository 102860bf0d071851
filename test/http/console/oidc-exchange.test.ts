import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { startApp } from '../../support/http/app.ts'
import { newPerson } from '../../support/http/people.ts'
import { send } from '../../support/http/send.ts'
import { freshSubject, startOidcApp } from './oidc-app.ts'

const oidc = await startOidcApp()
const { provider, app, org, begin, comeBack, signInBy, signInElsewhere, refused } = oidc
after(() => oidc.close())
afterEach(() => provider.behave())

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

test('a state is valid in its own browser, once, for ten minutes; otherwise the code is not even looked at', async () => {
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
  assert.match((await signInElsewhere(freshSubject())).to, /error=oidc_failed/)
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
    return signInElsewhere(freshSubject())
  }
  assert.match((await of({ issuer: 'https://evil.example' })).to, /sign-in\?error=oidc_failed$/)
  assert.match((await of({ token_endpoint: 'http://evil.example/token' })).to, /error=oidc_failed$/)
  assert.match((await of({ jwks_uri: 'file:///etc/passwd' })).to, /error=oidc_failed$/)
  const with_slash = `${provider.config.issuer}/`
  provider.conduct.claims = { iss: with_slash }
  assert.match((await of({ issuer: with_slash })).to, /error=oidc_failed$/, 'the issuer is compared to the letter')
  const away = { ...provider.config, issuer: 'http://127.0.0.1:9' }
  assert.match((await signInElsewhere(freshSubject(), away)).to, /error=oidc_unavailable$/)
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
  assert.match((await signInElsewhere(freshSubject())).to, /\/$/)
})

test('404 without a provider; the cookie is Secure over https', async () => {
  const plain = await startApp({ beside: app })
  for (const path of ['', '/callback?state=x&code=y'])
    assert.equal((await send(plain, 'GET', `/console/auth/oidc${path}`)).body.error.code, 'unknown_url')
  await plain.close()
  const config = JSON.stringify({ public_url: 'https://kinora.example', login: { oidc: provider.config } })
  const secure = await startApp({ beside: app, config })
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
