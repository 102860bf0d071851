import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { getMigrations } from 'better-auth/db/migration'
import { loginOptions } from '../../../server/identity/login/library.ts'
import { systemClock } from '../../../server/platform/clock.ts'
import { silentLog } from '../../../server/platform/log.ts'
import { testDatabase } from '../../support/data/postgres.ts'

const { db, pool, close } = await testDatabase()
after(close)

const options = await loginOptions({
  db,
  clock: systemClock,
  log: silentLog,
  secret: 'x'.repeat(43),
  public_url: 'http://127.0.0.1',
})

test('the login library finds every table, column and index it needs in our own migration', async () => {
  const { toBeCreated, toBeAdded, schemaProblems } = await getMigrations(options)
  assert.deepEqual(
    toBeCreated.map(({ table }) => table),
    [],
  )
  assert.deepEqual(toBeAdded, [])
  assert.deepEqual(schemaProblems ?? [], [])
})

test('the library’s check works: it reports a missing column', async () => {
  await pool.query('alter table sessions rename column user_agent to agent')
  const { toBeAdded } = await getMigrations(options)
  assert.deepEqual(
    toBeAdded.map(({ table }) => table),
    ['sessions'],
  )
  await pool.query('alter table sessions rename column agent to user_agent')
})

test('ids are compared bytewise, so that they sort by time', async () => {
  const { rows } = await pool.query(`
    select table_name, column_name from information_schema.columns
    where table_name in ('users', 'organizations', 'members', 'logins', 'sessions', 'verifications', 'invitations', 'api_keys')
      and (column_name = 'id' or column_name in ('org_id', 'user_id', 'inviter_id')) and collation_name is distinct from 'C'`)
  assert.deepEqual(rows, [])
})

test('the login library sends no telemetry, has no rate limit of its own and allows no sign-up', () => {
  assert.equal(options.telemetry.enabled, false)
  assert.equal(options.rateLimit.enabled, false)
  assert.equal(options.emailAndPassword.disableSignUp, true)
})
