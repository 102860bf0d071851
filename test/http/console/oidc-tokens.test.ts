import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { newPerson } from '../../support/http/people.ts'
import { freshSubject, startOidcApp } from './oidc-app.ts'
import type { Conduct } from './oidc-server.ts'

const oidc = await startOidcApp()
const { provider, app, org, signInBy, refused } = oidc
after(() => oidc.close())
afterEach(() => provider.behave())

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

test('the times of an ID token are checked by the clock of the service, with a minute of tolerance', async () => {
  const { email } = await newPerson(app, org)
  const person = { sub: freshSubject(), email, email_verified: true }
  const withTimes = (claims: Record<string, unknown>) => {
    provider.conduct.claims = claims
    return signInBy(person)
  }
  for (const days of [-1, 1]) {
    app.clock.advance(days * 86_400)
    // The clock goes on during a sign-in, for up to half a minute.
    const now = () => Math.floor(app.clock.now().getTime() / 1000)
    for (const [claim, seconds] of [
      ['exp', -30],
      ['iat', -630],
      ['iat', 59],
      ['nbf', 59],
    ] as const)
      assert.equal((await withTimes({ [claim]: now() + seconds })).to, `${app.url}/`, `${days} ${claim} ${seconds}`)
    for (const [claim, seconds] of [
      ['exp', -60],
      ['iat', -661],
      ['iat', 90],
      ['nbf', 90],
    ] as const)
      assert.equal(
        (await withTimes({ [claim]: now() + seconds })).to,
        refused('oidc_failed'),
        `${days} ${claim} ${seconds}`,
      )
    app.clock.advance(-days * 86_400)
  }
})

test('a key of the provider is accepted from the first sign-in after it is published until it is withdrawn', async () => {
  const person = { sub: freshSubject(), email: (await newPerson(app, org)).email, email_verified: true }
  const signInUnder = async (algorithm: 'RS256' | 'ES256', withdrawn: string[]) => {
    Object.assign(provider.conduct, { algorithm, withdrawn })
    return (await signInBy(person)).to
  }
  assert.equal(await signInUnder('RS256', ['ES256']), `${app.url}/`)
  assert.equal(await signInUnder('ES256', ['RS256']), `${app.url}/`)
  assert.equal(await signInUnder('RS256', ['RS256']), refused('oidc_failed'))
})
