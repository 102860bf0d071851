import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { sql } from 'kysely'
import type { Tx } from '../../../server/platform/db/db.ts'
import { meanwhile } from '../../support/data/meanwhile.ts'
import { codeOf } from '../../support/data/totp.ts'
import { startApp, type TestApp } from '../../support/http/app.ts'
import {
  browserOf,
  cookieOf,
  newOrganization,
  newPerson,
  PASSWORD,
  type Person,
  signInAs,
} from '../../support/http/people.ts'
import { send } from '../../support/http/send.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())
afterEach(() => sql`truncate login_attempts`.execute(app.database.db))

type Enrolled = { person: Person; browser: { cookie: string }; secret: string }

/** A person who has been given a secret and has not confirmed it. */
async function enrolled(): Promise<Enrolled> {
  const person = await newPerson(app, await newOrganization(app))
  const browser = await browserOf(app, person)
  const { body } = await send(app, 'POST', '/console/two_factor', browser, { password: PASSWORD })
  return { person, browser, secret: body.secret }
}

test('409 for a new secret while the one before is confirmed: the confirmed one stays and signs in', async () => {
  const { person, browser, secret } = await enrolled()
  const confirm = async (tx: Tx) => {
    await sql`update two_factors set verified = true where user_id = ${person.user_id}`.execute(tx)
    await sql`update users set two_factor_enabled = true where id = ${person.user_id}`.execute(tx)
  }
  const answer = await meanwhile(app, confirm, () =>
    send(app, 'POST', '/console/two_factor', browser, { password: PASSWORD }),
  )
  assert.equal(answer.status, 409, JSON.stringify(answer.body))
  const challenge = { cookie: cookieOf(await signInAs(app, person.email)) }
  const second = await send(app, 'POST', '/console/auth/sign-in/two-factor', challenge, { code: codeOf(secret) })
  assert.equal(second.status, 200, JSON.stringify(second.body))
})

test('409 for a code of a secret that is replaced meanwhile: the factor stays off, so that nobody is locked out', async () => {
  const { person, browser, secret } = await enrolled()
  const replace = (tx: Tx) =>
    sql`update two_factors set secret = reverse(secret) where user_id = ${person.user_id}`.execute(tx)
  const answer = await meanwhile(app, replace, () =>
    send(app, 'POST', '/console/two_factor/confirm', browser, { code: codeOf(secret) }),
  )
  assert.equal(answer.status, 409, JSON.stringify(answer.body))
  assert.equal((await signInAs(app, person.email)).body.object, 'console_session')
})
