import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { grantCredits, openAccount } from '../../../server/billing/ledger.ts'
import { draftFirstRun, ensureFirstRun, publishFirstRun } from '../../../server/identity/people/first-run.ts'
import { startApp, type TestApp } from '../../support/http/app.ts'
import { signInAs, whoAmI } from '../../support/http/people.ts'
import { send } from '../../support/http/send.ts'

let app: TestApp
before(async () => {
  app = await startApp({ endpoints: [whoAmI] })
})
after(() => app.close())
beforeEach(() => app.database.truncateAll())

const firstRun = (overrides = {}) => {
  const { database, clock } = app
  const { config } = app.ctx
  return ensureFirstRun({ db: database.db, config, clock, openAccount, grantCredits, ...overrides })
}
const count = async (table: 'organizations' | 'users' | 'api_keys' | 'ledger_entries' | 'accounts') =>
  (await app.database.db.selectFrom(table).selectAll().execute()).length

test('an empty database gets an organization, its owner, a key and the opening balance', async () => {
  const run = (await firstRun())!
  assert.equal(run.email, 'owner@kinora.local')
  assert.match(run.password, /^[0-9A-Za-z]{20}$/)
  const { body } = await signInAs(app, run.email, run.password)
  assert.deepEqual(body.organization, { id: run.organization_id, name: 'Default', role: 'owner' })
  assert.equal(body.user.id, run.user_id)
  const who = (await send(app, 'GET', '/v1/whoami', { key: run.api_key })).body
  assert.deepEqual([who.org_id, who.user_id, who.role, who.plan], [run.organization_id, run.user_id, 'owner', 'free'])
  const account = await app.database.db.selectFrom('accounts').selectAll().execute()
  assert.deepEqual(account, [{ org_id: run.organization_id, balance: 10_000_000_000n, held: 0n, running: 0 }])
})

test('two passwords are never the same', async () => {
  const one = await firstRun()
  await app.database.truncateAll()
  const two = await firstRun()
  assert.notEqual(one!.password, two!.password)
  assert.notEqual(one!.api_key, two!.api_key)
})

test('a database that has an organization is left alone', async () => {
  await firstRun()
  assert.equal(await firstRun(), null)
  assert.equal(await count('organizations'), 1)
})

test('of five processes that start together, one creates the first organization', async () => {
  const runs = await Promise.all(Array.from({ length: 5 }, () => firstRun()))
  assert.equal(runs.filter((run) => run !== null).length, 1)
  for (const table of ['organizations', 'users', 'api_keys', 'ledger_entries', 'accounts'] as const) {
    assert.equal(await count(table), 1, table)
  }
})

test('a first run that fails half-way leaves nothing, and the next one succeeds', async () => {
  const grantCredits = () => Promise.reject(new Error('the power went'))
  await assert.rejects(firstRun({ grantCredits }), /the power went/)
  for (const table of ['organizations', 'users', 'api_keys', 'accounts'] as const)
    assert.equal(await count(table), 0, table)
  assert.notEqual(await firstRun(), null)
})

test('an owner who could never sign in is rejected before anything is created', async () => {
  const { config: before } = app.ctx
  const config = { ...before, first_run: { ...before.first_run, email: 'owner@localhost' } }
  await assert.rejects(firstRun({ config }), /Invalid 'email'/)
  assert.equal(await count('organizations'), 0)
})

test('first-run.json has exactly the documented fields, and only its owner may read it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-first-run-'))
  const run = (await firstRun())!
  draftFirstRun(dir, { base_url: app.url, ...run })
  const path = publishFirstRun(dir)
  assert.equal(path, join(dir, 'first-run.json'))
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const written = JSON.parse(readFileSync(path, 'utf8'))
  assert.deepEqual(written, { base_url: app.url, ...run })
  assert.deepEqual(Object.keys(written), ['base_url', 'email', 'password', 'organization_id', 'user_id', 'api_key'])
  assert.deepEqual(readdirSync(dir), ['first-run.json'])
  rmSync(dir, { recursive: true })
})
