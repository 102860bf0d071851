import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { placeHolds } from '../../../server/billing/holds.ts'
import { openDataDir } from '../../../server/platform/data-dir.ts'
import { openChanges } from '../../../server/platform/db/changes.ts'
import { newId } from '../../../server/platform/ids.ts'
import { startEmbeddedPostgres } from '../../../server/platform/postgres/embedded.ts'
import { CANCEL_TOPIC } from '../../../server/videos/queues.ts'
import { insertJobs, type NewVideoJob } from '../../../server/videos/store.ts'
import { runCommand, runKinora } from '../../support/command.ts'
import { startApp, type TestApp } from '../../support/http/app.ts'
import { browserOf, newOrganization, newPerson, signInAs, whoAmI } from '../../support/http/people.ts'
import { send } from '../../support/http/send.ts'

let app: TestApp
before(async () => {
  app = await startApp({ endpoints: [whoAmI] })
})
after(() => app.close())

/** Runs `kinora admin ...` as an operator would, beside the running service. */
const admin = (args: string[], env: Record<string, string> = { DATABASE_URL: app.database.url }) =>
  runCommand(['admin', ...args], env)

/** The same, in a process of its own. */
const adminProcess = (...args: string[]) => runKinora(['admin', ...args], { env: { DATABASE_URL: app.database.url } })

async function json(...args: string[]) {
  const { code, stdout, stderr } = await admin([...args, '--json'])
  assert.equal(code, 0, stderr + stdout)
  return JSON.parse(stdout)
}

test('an operator sets up an organization, a person and a key that call at once', async () => {
  const org = await adminProcess('org', 'create', '--name', 'Studio', '--plan', 'free', '--balance', '12.5', '--json')
  assert.equal(org.code, 0, org.stderr)
  const { id: org_id, ...made } = JSON.parse(org.stdout)
  assert.match(org_id, /^org_/)
  assert.deepEqual(made, { name: 'Studio', plan: 'free', balance: '12.50000000' })

  const person = await json('user', 'create', '--email', 'Lin@Example.com', '--org', 'Studio', '--role', 'admin')
  const { id: user_id, password, ...rest } = person
  assert.deepEqual(rest, {
    ...{ email: 'lin@example.com', organization_id: org_id, role: 'admin' },
    ...{ created: true, password_reset: false },
  })
  assert.equal((await signInAs(app, 'lin@example.com', password)).body.organization.role, 'admin')

  const key = await json('key', 'create', '--user', 'lin@example.com', '--org', org_id, '--name', 'CI')
  const { id: key_id, key: secret, hint, ...owner } = key
  assert.deepEqual(owner, { name: 'CI', user_id, organization_id: org_id })
  assert.equal(hint, `kin_...${secret.slice(-4)}`)
  assert.equal((await send(app, 'GET', '/v1/whoami', { key: secret })).body.user_id, user_id)

  assert.deepEqual(await json('key', 'revoke', key_id), { id: key_id, revoked: true })
  const again = await admin(['key', 'revoke', '--id', key_id])
  assert.equal(again.code, 1)
  assert.match(again.stderr, /There is no good key/)
})

test('a person whose address is verified is added to another organization and keeps the password', async () => {
  const person = await newPerson(app, await newOrganization(app, 'First'))
  await app.database.pool.query('update users set email_verified = true where id = $1', [person.user_id])
  await newOrganization(app, 'Second home')
  const added = await json('user', 'create', '--email', person.email, '--org', 'Second home')
  assert.equal(added.id, person.user_id)
  assert.equal(added.role, 'member')
  assert.equal('password' in added, false)
  assert.equal((await signInAs(app, person.email)).body.organizations.length, 2)
  const twice = await admin(['user', 'create', '--email', person.email, '--org', 'Second home'])
  assert.equal(twice.code, 1)
  const ambiguous = await admin(['key', 'create', '--user', person.email, '--name', 'x'])
  assert.match(ambiguous.stderr, /is in 2 organizations. Name one with --org/)
})

test('credits are granted and withdrawn with a note, and the new balance is printed', async () => {
  const org_id = await newOrganization(app, 'Paying')
  const grant = await json('credits', 'grant', '--org', org_id, '--amount', '25', '--note', 'Invoice 7')
  assert.deepEqual([grant.organization_id, grant.amount, grant.balance], [org_id, '25.00000000', '25.00000000'])
  const taken = await json('credits', 'grant', '--org', org_id, '--amount=-0.00000001', '--note', 'Correction')
  assert.equal(taken.balance, '24.99999999')
  const wrong = [
    ['--amount', '5'],
    ['--amount', '5', '--note', ''],
    ['--amount', '1e3', '--note', 'x'],
    ['--amount', '0', '--note', 'x'],
  ]
  const ran = await Promise.all(wrong.map((args) => admin(['credits', 'grant', '--org', org_id, ...args])))
  assert.deepEqual(new Set(ran.map(({ code }) => code)), new Set([2]))
})

test('a command that the database gives no second connection says so, and changes nothing', async (t) => {
  const org_id = await newOrganization(app, 'Crowded')
  const { db, url } = app.database
  const role = `kinora_crowded_${Math.random().toString(36).slice(2, 12)}`
  await sql`create role ${sql.id(role)} login password 'few' connection limit 1 in role pg_read_all_data, pg_write_all_data`.execute(
    db,
  )
  t.after(() => sql`drop role ${sql.id(role)}`.execute(db))
  const crowded = new URL(url)
  Object.assign(crowded, { username: role, password: 'few' })
  const grant = ['credits', 'grant', '--org', org_id, '--amount', '5', '--note', 'x']
  const { code, stderr } = await admin(grant, { DATABASE_URL: crowded.href })
  assert.equal(code, 1)
  assert.match(stderr, /no further connection \(too many connections for role .*\)\. Nothing was changed/)
  const { rows } = await sql`select 1 from ledger_entries where org_id = ${org_id}`.execute(db)
  assert.deepEqual(rows, [])
})

test('a job is canceled, its worker is notified, and what was set aside for it is released', async (t) => {
  const org_id = await newOrganization(app, 'Rendering')
  const { user_id, key_id } = await newPerson(app, org_id)
  await json('credits', 'grant', '--org', org_id, '--amount', '1', '--note', 'x')
  const { db } = app.database
  const now = new Date()
  const id = newId('video', now)
  const agreed = { org_id, user_id, terms_version: '1', session_id: 'ses_1', accepted_at: now }
  await db.insertInto('video_acceptances').values(agreed).execute()
  await db.transaction().execute(async (tx) => {
    await placeHolds(tx, [{ job_id: id, org_id, amount: 100n, running_max: 2, now }])
    const who = { id, org_id, user_id, key_id, request_id: 'req_1' }
    const asked = { model: 'storyboard-1', prompt: 'p', seconds: 4, aspect_ratio: '1:1', inputs: [], made_from: null }
    const quoted = { per_second: 25n, cost: 100n, currency: 'usd', created_at: now }
    await insertJobs(tx, [{ ...who, ...asked, ...quoted } as NewVideoJob])
  })
  const changes = await openChanges({ db, url: app.database.url })
  t.after(() => changes.close())
  const announced = Promise.withResolvers<string | null>()
  changes.on(CANCEL_TOPIC, announced.resolve)
  assert.deepEqual(await json('job', 'cancel', id), { id, status: 'canceled' })
  assert.equal(await announced.promise, id)
  const account = await db.selectFrom('accounts').selectAll().where('org_id', '=', org_id).executeTakeFirst()
  assert.deepEqual(account, { org_id, balance: 100_000_000n, held: 0n, running: 0 })
})

test('a forgotten password is replaced and existing sessions end', async () => {
  const person = await newPerson(app, await newOrganization(app, 'Forgetful'))
  const browser = await browserOf(app, person)
  const { password } = await json('user', 'reset-password', '--user', person.email)
  assert.match(password, /^[0-9A-Za-z]{20}$/)
  assert.equal((await send(app, 'GET', '/console/session', browser)).status, 401)
  assert.equal((await signInAs(app, person.email)).status, 401)
  assert.equal((await signInAs(app, person.email, password)).status, 200)
})

test('somebody who signed in otherwise is given a password', async () => {
  const person = await newPerson(app, await newOrganization(app, 'Passwordless'))
  await app.database.db.deleteFrom('logins').where('user_id', '=', person.user_id).execute()
  const { password } = await json('user', 'reset-password', '--user', person.user_id)
  assert.equal((await signInAs(app, person.email, password)).status, 200)
})

test('a lost second factor is removed, once, and the sessions end; the password stays', async () => {
  const person = await newPerson(app, await newOrganization(app, 'Lost'))
  const none = await admin(['user', 'reset-two-factor', '--user', person.email])
  assert.equal(none.code, 1)
  assert.match(none.stderr, /has no second factor/)
  const browser = await browserOf(app, person)
  await app.database.db
    .updateTable('users')
    .set({ two_factor_enabled: true })
    .where('id', '=', person.user_id)
    .execute()
  assert.equal((await signInAs(app, person.email)).body.object, 'two_factor_required')
  const answer = await json('user', 'reset-two-factor', '--user', person.email)
  assert.deepEqual(answer, { id: person.user_id, email: person.email, two_factor: false })
  assert.equal((await send(app, 'GET', '/console/session', browser)).status, 401)
  assert.equal((await signInAs(app, person.email)).body.object, 'console_session')
})

test('a plan must be one of the configuration', async () => {
  const org_id = await newOrganization(app, 'Planned')
  assert.equal((await json('plan', 'set', '--org', org_id, '--plan', 'free')).plan, 'free')
  const { code, stderr } = await admin(['plan', 'set', '--org', org_id, '--plan', 'gold'])
  assert.equal(code, 1)
  assert.match(stderr, /^kinora admin plan set: There is no plan gold\. The configuration has free\.$/m)
})

test('a second organization of a name, whatever its case, is refused with the id of the first', async () => {
  const id = await newOrganization(app, 'Twin')
  const { code, stdout, stderr } = await admin(['org', 'create', '--name', 'Twin'])
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, new RegExp(`There is an organization Twin already: ${id}\\.`))
  const otherCase = await admin(['org', 'create', '--name', 'tWIN'])
  assert.deepEqual([otherCase.code, otherCase.stdout], [1, ''])
  assert.match(otherCase.stderr, new RegExp(`There is an organization Twin already: ${id}\\.`))
  assert.equal((await json('plan', 'set', '--org', 'Twin', '--plan', 'free')).id, id)
})

test('what cannot be found is reported in one line that names the remedy, with exit code 1', async () => {
  const cases: Array<[string[], RegExp]> = [
    [['job', 'cancel', 'video_00000000000000000000000000'], /There is no job/],
    [['key', 'create', '--user', 'ghost@example.com', '--name', 'x'], /There is no person ghost@example.com/],
    [['user', 'create', '--email', 'a@example.com', '--org', 'Ghosts'], /There is no organization Ghosts/],
    [['user', 'create', '--email', 'a@localhost', '--org', 'Studio'], /Invalid 'email'/],
  ]
  const ran = await Promise.all(cases.map(([args]) => admin(args)))
  for (const [index, [args, message]] of cases.entries()) {
    const { code, stdout, stderr } = ran[index]!
    assert.deepEqual([code, stdout], [1, ''], args.join(' '))
    assert.match(stderr, message)
    const [database, refusal, ...more] = stderr.trim().split('\n')
    assert.match(database!, /: working on the database .+ of DATABASE_URL$/)
    assert.match(refusal!, message)
    assert.deepEqual(more, [])
  }
})

test('wrong usage exits with 2 and prints the usage; help exits with 0', async () => {
  const wrong = [
    ['org', 'create', '--nmae', 'x'],
    ['org', 'create'],
    ['org', 'crate'],
    ['constructor'],
    ['key', 'revoke', 'key_a', '--id', 'key_b'],
    ['audit', 'now'],
    ['user', 'create', '--email', 'a@example.com', '--org', 'x', '--role', 'god'],
  ]
  const ran = await Promise.all(wrong.map((args) => admin(args)))
  for (const [index, { code, stdout, stderr }] of ran.entries()) {
    assert.deepEqual([code, stdout], [2, ''], wrong[index]!.join(' '))
    assert.match(stderr, /kinora admin/)
  }
  assert.equal((await adminProcess('org', 'create')).code, 2)
  const { code, stdout } = await admin(['--help'])
  assert.equal(code, 0)
  for (const name of [
    'org create',
    'user create',
    'key create',
    'key revoke',
    'credits grant',
    'job cancel',
    'plan set',
    'audit',
  ]) {
    assert.ok(stdout.includes(`  ${name} `), name)
  }
  const help = await admin(['key', 'create', '--help'])
  assert.equal(help.code, 0)
  assert.match(help.stdout, /--name <name> .*\(required\)/)
})

test('without DATABASE_URL it finds the database of the service on the data directory, and starts it when none runs', async () => {
  const path = mkdtempSync(join(tmpdir(), 'kinora-admin-'))
  const env = { KINORA_DATA_DIR: path }
  try {
    const nothing = await admin(['org', 'create', '--name', 'A'], env)
    assert.equal(nothing.code, 1)
    assert.match(nothing.stderr, /No service has run in/)

    const dir = openDataDir(path)
    const server = await startEmbeddedPostgres({ dir: dir.postgres })
    const beside = await admin(['org', 'create', '--name', 'A', '--json'], env)
    assert.equal(beside.code, 0, beside.stderr)
    await server.stop()
    dir.release()

    const alone = await admin(['plan', 'set', '--org', 'A', '--plan', 'free', '--json'], env)
    assert.equal(alone.code, 0, alone.stderr)
    assert.equal(JSON.parse(alone.stdout).id, JSON.parse(beside.stdout).id)
  } finally {
    rmSync(path, { recursive: true, force: true })
  }
})

test('user create for an unverified address replaces its password, ends its sessions, API keys and invitations, and reports it', async () => {
  const org = await newOrganization(app, 'Taken over')
  const squatter = await newPerson(app, org, 'owner')
  const { cookie } = await browserOf(app, squatter)
  const invitation = { email: 'confederate@example.com', role: 'owner' }
  const invited = (await send(app, 'POST', '/console/invitations', { cookie }, invitation)).body
  const other = await json('org', 'create', '--name', 'Another home')
  const args = ['--email', squatter.email, '--org', other.id]
  const added = await json('user', 'create', ...args)
  assert.deepEqual([added.created, added.password_reset], [false, true])
  assert.equal((await send(app, 'GET', '/console/session', { cookie })).status, 401)
  assert.equal((await send(app, 'GET', '/v1/whoami', { key: squatter.key })).status, 401)
  const recorded = `select target from activity_entries where org_id = $1 and details->>'because' = 'address_verified'`
  const ended = (await app.database.pool.query(recorded, [org])).rows.map(({ target }) => target)
  assert.deepEqual(ended.sort(), [invited.id, squatter.key_id].sort())
  assert.equal((await signInAs(app, squatter.email)).status, 401)
  assert.equal((await signInAs(app, squatter.email, added.password)).status, 200)

  await app.database.pool.query('update users set email_verified = true where id = $1', [squatter.user_id])
  const third = await json('org', 'create', '--name', 'Third home')
  const again = await json('user', 'create', '--email', squatter.email, '--org', third.id)
  assert.deepEqual([again.created, again.password_reset, again.password], [false, false, undefined])
  assert.equal((await signInAs(app, squatter.email, added.password)).status, 200)

  const fourth = await json('org', 'create', '--name', 'Fourth home')
  await app.database.pool.query('update users set email_verified = false where id = $1', [squatter.user_id])
  const created = await admin(['user', 'create', '--email', squatter.email, '--org', fourth.id])
  assert.match(created.stdout, /nobody had verified the address: the password is replaced.* and invitation revoked/)
})
