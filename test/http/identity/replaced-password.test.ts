import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { sql } from 'kysely'
import { createMember, newPassword } from '../../../server/identity/people/provision.ts'
import { replacePassword } from '../../../server/identity/people/store.ts'
import type { Tx } from '../../../server/platform/db/db.ts'
import { meanwhile } from '../../support/data/meanwhile.ts'
import { codeOf } from '../../support/data/totp.ts'
import { startApp, type TestApp } from '../../support/http/app.ts'
import { browserOf, newOrganization, newPerson, PASSWORD, type Person, signInAs } from '../../support/http/people.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'
import { challenged, protectedPerson, secondStep } from '../../support/http/two-factor.ts'

const NEW_PASSWORD = 'chosen by the operator'

let app: TestApp
let replacement: string
before(async () => {
  app = await startApp()
  replacement = (await newPassword(NEW_PASSWORD)).password_hash
})
after(() => app.close())
afterEach(() => sql`truncate login_attempts`.execute(app.database.db))

const reset = (user_id: string) => (tx: Tx) =>
  replacePassword(tx, { user_id, password_hash: replacement, now: app.clock.now() })

async function assertOut(person: Person, answer: HttpResponse): Promise<void> {
  assert.equal(answer.status, 401, JSON.stringify(answer.body))
  const { rows } = await sql`select from sessions where user_id = ${person.user_id}`.execute(app.database.db)
  assert.equal(rows.length, 0, 'no session is left')
  assert.equal((await signInAs(app, person.email)).status, 401)
  assert.equal((await signInAs(app, person.email, NEW_PASSWORD)).status, 200)
}

test('401 for a sign-in whose password is replaced while it is checked: no session outlives the old password', async () => {
  const person = await newPerson(app, await newOrganization(app))
  await assertOut(person, await meanwhile(app, reset(person.user_id), () => signInAs(app, person.email)))
})

test('401 as well when the operator adds the unverified address to an organization meanwhile', async () => {
  const person = await newPerson(app, await newOrganization(app))
  const org_id = await newOrganization(app)
  const added = { org_id, email: person.email, name: 'x', role: 'member' as const, password_hash: replacement }
  const add = (tx: Tx) => createMember(tx, { ...added, now: app.clock.now() })
  await assertOut(person, await meanwhile(app, add, () => signInAs(app, person.email)))
})

test('401 for an API key or an invitation made at the moment at which the unverified address is added: none is left', async () => {
  for (const [path, body] of [
    ['api_keys', { name: 'kept' }],
    ['invitations', { email: 'kept@example.com', role: 'member' }],
  ] as const) {
    const person = await newPerson(app, await newOrganization(app), 'owner')
    const browser = await browserOf(app, person)
    const org_id = await newOrganization(app)
    const added = { org_id, email: person.email, name: 'x', role: 'member' as const, password_hash: replacement }
    const add = (tx: Tx) => createMember(tx, { ...added, now: app.clock.now() })
    const answer = await meanwhile(app, add, () => send(app, 'POST', `/console/${path}`, browser, body))
    assert.deepEqual([answer.status, answer.body.error?.code], [401, 'missing_api_key'], path)
    const { rows } = await sql`
      select from api_keys where user_id = ${person.user_id} and revoked_at is null
      union all select from invitations where inviter_id = ${person.user_id} and status = 'pending'`.execute(
      app.database.db,
    )
    assert.equal(rows.length, 0, path)
  }
})

test('401 for a change of a password that is replaced meanwhile: the replacement stays', async () => {
  const person = await newPerson(app, await newOrganization(app))
  const browser = await browserOf(app, person)
  const change = { current_password: PASSWORD, new_password: 'chosen by somebody else' }
  const answer = await meanwhile(app, reset(person.user_id), () =>
    send(app, 'POST', '/console/password', browser, change),
  )
  await assertOut(person, answer)
  assert.equal((await signInAs(app, person.email, change.new_password)).status, 401)
})

test('401 for a second factor that is proved while the password is replaced', async () => {
  const person = await protectedPerson(app, await newOrganization(app))
  const challenge = await challenged(app, person)
  const answer = await meanwhile(app, reset(person.user_id), () =>
    secondStep(app, challenge, { code: codeOf(person.secret) }),
  )
  assert.equal(answer.status, 401, JSON.stringify(answer.body))
  const { rows } = await sql`select from sessions where user_id = ${person.user_id}`.execute(app.database.db)
  assert.equal(rows.length, 0, 'no session is left')
})
