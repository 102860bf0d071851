import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { codeOf } from '../data/totp.ts'
import type { TestApp } from './app.ts'
import { browserOf, cookieOf, newPerson, PASSWORD, type Person, signInAs } from './people.ts'
import { type HttpResponse, send } from './send.ts'

export type Browser = { cookie: string }
/** A person with a second factor, and the browser in which they turned it on. */
export type Protected = Person & { secret: string; recovery_codes: string[]; browser: Browser }

/** Turns on the second factor of whoever is signed in with PASSWORD, which renews the session. */
export async function turnOnTwoFactor(
  app: { url: string },
  { cookie }: Browser,
): Promise<Pick<Protected, 'secret' | 'recovery_codes' | 'browser'>> {
  const { secret } = (await send(app, 'POST', '/console/two_factor', { cookie }, { password: PASSWORD })).body
  const answer = await send(app, 'POST', '/console/two_factor/confirm', { cookie }, { code: codeOf(secret) })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return { secret, recovery_codes: answer.body.recovery_codes, browser: { cookie: cookieOf(answer) } }
}

/** A new member of `org_id` with a second factor, whose codes are all good. */
export async function protectedPerson(
  app: Pick<TestApp, 'url' | 'database' | 'clock'>,
  org_id: string,
): Promise<Protected> {
  const person = await newPerson(app, org_id)
  const twoFactor = await turnOnTwoFactor(app, await browserOf(app, person))
  await forgetCodes(app)
  return { ...person, ...twoFactor }
}

/** Codes that were used may be used again: as if two minutes had passed. */
export async function forgetCodes({ database }: Pick<TestApp, 'database'>): Promise<void> {
  await sql`truncate two_factor_codes`.execute(database.db)
}

/** The first step of signing in, and the cookie for the second. */
export async function challenged(app: { url: string }, person: Person): Promise<Browser> {
  const answer = await signInAs(app, person.email)
  assert.deepEqual(answer.body, { object: 'two_factor_required' })
  return { cookie: cookieOf(answer) }
}

/** The second step of signing in, by a code or a recovery code. */
export function secondStep(app: { url: string }, challenge: Browser, proof: object): Promise<HttpResponse> {
  return send(app, 'POST', '/console/auth/sign-in/two-factor', challenge, proof)
}
