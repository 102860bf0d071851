import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { sql } from 'kysely'
import { startApp, type TestApp } from '../../support/http/app.ts'
import { newOrganization, newPerson, PASSWORD, type Person, signInAs } from '../../support/http/people.ts'

let app: TestApp
let ada: Person

before(async () => {
  app = await startApp()
  ada = await newPerson(app, await newOrganization(app), 'owner')
})
after(() => app.close())
afterEach(() => sql`truncate login_attempts`.execute(app.database.db))

async function fail(times: number, email: (n: number) => string): Promise<void> {
  for (let n = 0; n < times; n++) assert.equal((await signInAs(app, email(n), 'wrong')).status, 401, `failure ${n + 1}`)
}

/** As from elsewhere: failures of one account that came from other addresses. */
async function spreadOverAddresses(): Promise<void> {
  await sql`update login_attempts set address_hash = 'elsewhere ' || id`.execute(app.database.db)
}

test('429 after ten failures of one account from anywhere, with the right password too, until ten minutes have passed', async () => {
  await fail(9, () => ada.email)
  await spreadOverAddresses()
  await fail(1, () => ada.email)
  await spreadOverAddresses()
  const answer = await signInAs(app, ada.email, PASSWORD)
  assert.equal(answer.status, 429)
  assert.equal(answer.body.error.code, 'rate_limit_exceeded')
  assert.match(answer.body.error.message, /Please try again in 600s\.$/)
  assert.equal(answer.headers.get('retry-after'), '600')
  app.clock.advance(599)
  const late = await signInAs(app, ada.email, PASSWORD)
  assert.deepEqual([late.status, late.headers.get('retry-after')], [429, '1'])
  app.clock.advance(1)
  assert.equal((await signInAs(app, ada.email, PASSWORD)).status, 200)
})

test('429 after ten failures from one address, whichever accounts they were for', async () => {
  await fail(10, (n) => `somebody-${n}@example.com`)
  assert.equal((await signInAs(app, ada.email, PASSWORD)).status, 429)
})

test('the limit is the same for accounts that do not exist', async () => {
  await fail(10, () => 'nobody@example.com')
  await spreadOverAddresses()
  assert.equal((await signInAs(app, 'nobody@example.com', 'wrong')).status, 429)
})

test('X-Forwarded-For does not change the address', async () => {
  await fail(10, (n) => `somebody-${n}@example.com`)
  const caller = {
    headers: { 'x-forwarded-for': '203.0.113.7', 'x-real-ip': '203.0.113.8', forwarded: 'for=203.0.113.9' },
  }
  assert.equal((await signInAs(app, ada.email, PASSWORD, caller)).status, 429)
})

test('successful sign-ins are not counted', async () => {
  await fail(9, () => ada.email)
  for (let n = 0; n < 5; n++) assert.equal((await signInAs(app, ada.email, PASSWORD)).status, 200)
})

test('of fifty attempts at once no more than ten are checked', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => signInAs(app, ada.email, 'wrong')))
  const tried = answers.filter(({ status }) => status === 401).length
  assert.ok(tried <= 10, `${tried} were tried`)
  assert.equal(answers.filter(({ status }) => status === 429).length, 50 - tried)
})

test('the table of failures holds neither emails nor addresses, and empties itself', async () => {
  const { db } = app.database
  await fail(1, () => ada.email)
  const { rows } = await sql<Record<string, unknown>>`select * from login_attempts`.execute(db)
  const text = JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value))
  assert.ok(!text.includes(ada.email) && !text.includes('127.0.0.1'))
  app.clock.advance(601)
  assert.equal((await signInAs(app, ada.email)).status, 200)
  assert.equal((await sql`select from login_attempts`.execute(db)).rows.length, 0)
})
