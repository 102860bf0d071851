import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { COMMANDS } from '../../server/cli/admin/admin.ts'
import { openAdminDatabase } from '../../server/cli/admin/database.ts'
import type { Serving } from '../../server/cli/serve.ts'
import { loadConfig } from '../../server/config/load.ts'
import { deleteActivityBefore, listAllActivity } from '../../server/identity/activity/store.ts'
import { systemClock } from '../../server/platform/clock.ts'
import { databaseTime } from '../../server/platform/db/database-clock.ts'
import { newId } from '../../server/platform/ids.ts'
import { dataDir, emptyDatabase, type TestDir } from '../support/data/data-dir.ts'
import { cookieOf, signInAs } from '../support/http/people.ts'
import { send } from '../support/http/send.ts'

type Made = { key: string; job: string; external: string; backup: string }

/**
 * Flags of every command that changes something, in an order in which each has something to change. A command that is missing here fails
 * the test, and so does one that leaves no entry.
 */
const CHANGES: Readonly<Record<string, (made: Made) => Record<string, string>>> = {
  'org create': () => ({ name: 'Acme' }),
  'user create': () => ({ email: 'aki@example.com', org: 'Acme', password: SECRET }),
  'user reset-password': () => ({ user: 'aki@example.com', password: SECRET }),
  'user reset-two-factor': () => ({ user: 'aki@example.com' }),
  'key create': () => ({ user: 'aki@example.com', name: 'ci' }),
  'key revoke': ({ key }) => ({ id: key }),
  'credits grant': () => ({ org: 'Acme', amount: '5.00', note: 'thanks' }),
  'plan set': () => ({ org: 'Acme', plan: 'free' }),
  'job cancel': ({ job }) => ({ id: job }),
  'engine pause': () => ({ id: 'sandbox-1' }),
  'engine drain': () => ({ id: 'sandbox-1' }),
  'engine resume': () => ({ id: 'sandbox-1' }),
  'intake pause': () => ({}),
  'intake resume': () => ({}),
  audit: () => ({}),
  reload: () => ({}),
  backup: ({ backup }) => ({ out: backup }),
  'database adopt': () => ({}),
  'secret forget': () => ({}),
  'database move': ({ external }) => ({ to: external }),
}
/** What is only read, or written where nobody's entries are: other tests call these. */
const NEEDS_MORE = new Set(['restore', 'blobs move', 'job show'])
const SECRET = 'a password that nobody may read'
const actor = { kind: 'operator', os_user: 'ops', host: 'here' } as const

let dir: TestDir
let serving: Serving
let external: Awaited<ReturnType<typeof emptyDatabase>>
before(async () => {
  dir = dataDir()
  await dir.prepare()
  external = await emptyDatabase()
  serving = await dir.serve()
})
after(async () => {
  await dir.remove()
  await external.drop()
})

const config = () => loadConfig({ data_dir: dir.path }, {}, null)
/** After the data has moved. */
const moved = () => ({ ...config(), database_url: external.url })

/** Runs a command and returns what it printed as JSON, with the actions that it has recorded. */
async function run(name: string, values: Record<string, string>, at = config()) {
  const command = COMMANDS.get(name)!
  const since = new Date()
  if ('runAlone' in command) await command.runAlone({ config: at, actor }, values)
  const database = await openAdminDatabase(name === 'database move' ? moved() : at)
  try {
    const admin = { ...database, config: at, clock: systemClock, actor }
    const json = 'run' in command ? (await command.run(admin, values)).json : {}
    const entries = await listAllActivity(database.db, { org_id: null, since, limit: 10 })
    assert.doesNotMatch(JSON.stringify(entries), new RegExp(SECRET))
    return { json, entries: entries.map(({ action, actor: by }) => [action, by]) }
  } finally {
    await database.close()
  }
}

async function addSecondFactor(): Promise<void> {
  const { db, close } = await openAdminDatabase(config())
  const { id: user_id } = await db
    .selectFrom('users')
    .select('id')
    .where('email', '=', 'aki@example.com')
    .executeTakeFirstOrThrow()
  const row = { id: newId('user'), user_id, verified: true, secret: 'sealed', backup_codes: 'sealed' }
  await db.insertInto('two_factors').values(row).execute()
  await db.updateTable('users').set({ two_factor_enabled: true }).where('id', '=', user_id).execute()
  await close()
}

/** A job of the first organization that has not ended. */
async function runningJob(): Promise<string> {
  const { email, password, api_key } = dir.firstRun()
  const cookie = cookieOf(await signInAs(serving, email, password))
  const site = await send(serving, 'GET', '/console/site', {})
  await send(serving, 'POST', '/v1/videos/acceptance', { cookie }, { terms_version: site.body.terms.version })
  const body = { model: 'storyboard-1', prompt: 'A boat', seconds: 15, aspect_ratio: '16:9' }
  return (await send(serving, 'POST', '/v1/videos', { key: api_key }, body)).body.id
}

test('every command of kinora admin that changes something records who did it, and what it read stays unrecorded', async () => {
  const recording = [...COMMANDS].flatMap(([name, { records }]) => (records === null ? [] : [name]))
  assert.deepEqual(recording.sort(), Object.keys(CHANGES).sort())
  const made: Made = { key: '', job: '', external: external.url, backup: join(dir.path, 'backup') }
  for (const [name, flags] of Object.entries(CHANGES)) {
    if (name === 'user reset-two-factor') await addSecondFactor()
    if (name === 'job cancel') made.job = await runningJob()
    if (name === 'database adopt') await serving.stop()
    const { json, entries } = await run(name, flags(made))
    if (name === 'key create') made.key = json.id as string
    const ours = entries.filter(([action]) => action === COMMANDS.get(name)!.records)
    assert.deepEqual(ours, [[COMMANDS.get(name)!.records, actor]], name)
  }
  const reading = [...COMMANDS].flatMap(([name, { records }]) => (records === null ? [name] : []))
  for (const name of reading.filter((name) => !NEEDS_MORE.has(name)))
    assert.deepEqual((await run(name, {}, moved())).entries, [], name)
})

test('commands that open the database themselves record its time, whatever the clock of this machine says', async (t) => {
  const other = await emptyDatabase()
  t.after(other.drop)
  const { pool, close } = await openAdminDatabase(config())
  const before = await databaseTime(pool)
  await close()
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() - 20_000 })
  const commands: Record<string, Record<string, string>> = {
    backup: { out: join(dir.path, 'later') },
    'database adopt': {},
    'database move': { to: other.url },
  }
  for (const [name, values] of Object.entries(commands)) {
    const command = COMMANDS.get(name)!
    assert.ok('runAlone' in command)
    await command.runAlone({ config: config(), actor }, values)
    const left = name === 'database move' && { database_url: other.url }
    const { db, close } = await openAdminDatabase({ ...config(), ...left })
    const entries = await listAllActivity(db, { org_id: null, since: before, limit: 10 })
    await close()
    assert.ok(entries.map(({ action }) => action).includes(command.records!), name)
  }
})

test('an entry is never changed, and deleted by the retention alone', async () => {
  const { db, pool, close } = await openAdminDatabase(moved())
  for (const change of [
    "update activity_entries set action = 'x'",
    'delete from activity_entries',
    'truncate activity_entries',
  ]) {
    await assert.rejects(pool.query(change), /append-only/, change)
  }
  const all = async () => (await listAllActivity(db, { org_id: null, since: null, limit: 100 })).length
  const before = await all()
  assert.ok(before > 0)
  await deleteActivityBefore(db, new Date(0), 100)
  assert.equal(await all(), before)
  assert.equal(await deleteActivityBefore(db, new Date(Date.now() + 1000), 100), before)
  await close()
})
