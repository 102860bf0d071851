import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { RESPONSE_STATUSES } from '../../../server/responses/schema/response.ts'
import {
  findEndOfResponseWalk,
  listResponsesOfAnyOrg,
  type WantedResponses,
} from '../../../server/responses/stored/store/list.ts'
import { runCommand } from '../../support/command.ts'
import { plansOf } from '../../support/data/plans.ts'
import { testDatabase } from '../../support/data/postgres.ts'
import { newCustomer, type TestPerson } from '../../support/http/app.ts'
import { type BackgroundApp, startBackgroundApp } from '../../support/http/background-app.ts'
import { send } from '../../support/http/send.ts'

const ALL: WantedResponses = {
  org_id: null,
  statuses: RESPONSE_STATUSES,
  model: null,
  error: null,
  since: null,
  before: null,
  order: 'desc',
  limit: 50,
  read_max: 1000,
}

let service: BackgroundApp
let other: TestPerson
/** Ended three hours ago, since it could not be started in time. */
let failed: string
/** Ended an hour ago. */
let completed: string
/** Its engine cannot be reached. */
let put_off: string
let queued: string
before(async () => {
  service = await startBackgroundApp({ worker: false })
  const { app, person } = service
  other = await newCustomer(app)
  const hoursAgo = (hours: number) => app.clock.set(new Date(Date.now() - hours * 3_600_000))
  const submitted = async (changes: Record<string, unknown> = {}, by = person) =>
    (await service.submit({ input: 'The canary', ...changes }, by)).body.id as string
  hoursAgo(30)
  failed = await submitted()
  hoursAgo(3)
  await service.tick()
  hoursAgo(1)
  completed = await submitted()
  await service.tick()
  await send(app, 'POST', '/v1/responses', { key: person.key }, { model: 'm', input: 'In the foreground' })
  hoursAgo(0)
  put_off = await submitted({ model: 'gone' })
  await service.tick()
  queued = await submitted({}, other)
})
after(() => service.close())

const list = (...args: string[]) =>
  runCommand(['admin', 'response', 'list', ...args], { DATABASE_URL: service.app.database.url })

// biome-ignore lint/suspicious/noExplicitAny: what the command prints.
async function data(...args: string[]): Promise<any[]> {
  const { code, stdout, stderr } = await list(...args, '--json')
  assert.equal(code, 0, stderr)
  assert.doesNotMatch(stdout, /canary/)
  return JSON.parse(stdout).data
}
const ids = async (...args: string[]) => (await data(...args)).map(({ id }) => id)

test('response list finds background responses by status, age, model, organization and error, unfinished ones by default', async () => {
  assert.deepEqual(new Set(await ids()), new Set([queued, put_off]))
  assert.deepEqual(await ids('--org', other.org_id), [queued])
  assert.deepEqual(await ids('--model', 'gone'), [put_off])
  assert.deepEqual(await ids('--status', 'ended'), [completed, failed])
  assert.deepEqual(await ids('--status', 'ended,queued', '--oldest'), [failed, completed, queued])
  assert.deepEqual(await ids('--error', 'server_is_overloaded'), [failed])
  assert.deepEqual(await ids('--error', 'server_error'), [])
  assert.deepEqual(await ids('--status', 'ended', '--older-than', '2h'), [failed])
  assert.deepEqual(await ids('--status', 'ended', '--since', '2h'), [completed])
  assert.deepEqual(await ids('--status', 'completed', '--org', other.org_id), [])
})

test('response list says how often a response was put off, when it is due again and why one failed', async () => {
  const [waiting] = await data('--model', 'gone')
  assert.deepEqual(
    [waiting.status, waiting.waits, waiting.claimed_until, waiting.error],
    ['in_progress', 1, null, null],
  )
  assert.ok(waiting.next_run_at > waiting.created_at)
  const { code, stdout } = await list('--status', 'unfinished,failed')
  assert.equal(code, 0)
  assert.match(stdout, /^id +time +age +status +detail +organization? *\S* *model$/m)
  assert.match(stdout, /in_progress +(next in \d+s|due), put off 1 times? /)
  assert.match(stdout, / 3h {2}failed +server_is_overloaded /)
  assert.match(stdout, / queued +due /)
  assert.ok(stdout.split('\n').every(({ length }) => length <= 100))
})

test('response list looks through so many that ended, says where it stopped, and has every unfinished one', async () => {
  const { db } = service.app.ctx
  const wanted = { ...ALL, read_max: 1, statuses: ['failed', 'queued'] as const }
  const found = await listResponsesOfAnyOrg(db, wanted)
  assert.deepEqual(
    found.map(({ id }) => id),
    [queued],
  )
  assert.ok((await findEndOfResponseWalk(db, wanted)) instanceof Date)
  assert.equal(await findEndOfResponseWalk(db, { ...wanted, read_max: 3 }), null)
})

test('response list reads unfinished responses from their own indexes, and the others in the order of their ends', async (t) => {
  const database = await testDatabase()
  t.after(database.close)
  await database.pool.query(`
    insert into responses (id, org_id, user_id, request_id, model, status, background, body, size_bytes, created_at, finished_at,
                           request, next_run_at, claim_id, claimed_until)
    select 'resp_' || md5(n::text), 'org_' || n % 20, 'u', 'r', 'm', case when n > 19800 then 'queued' else 'cancelled' end, true, '{}', 1,
           now(), case when n <= 19800 then now() - n * interval '1 second' end, case when n > 19800 then '{}'::json end,
           case when n > 19800 then now() end, case when n > 19900 then 'w' end, case when n > 19900 then now() end
    from generate_series(1, 20000) n`)
  await database.pool.query('analyze responses')
  const planOf = async (wanted: Partial<WantedResponses>) => {
    const all = { ...ALL, read_max: 100_000, ...wanted }
    const [plan] = await plansOf(database, (db) => listResponsesOfAnyOrg(db, all))
    assert.doesNotMatch(plan!, /Seq Scan/)
    return plan!
  }
  const unfinished = await planOf({ statuses: ['queued'] })
  assert.match(unfinished, /responses_(ready|waiting)/)
  assert.match(unfinished, /responses_leases/)
  assert.match(
    await planOf({ statuses: ['failed'], error: 'x', org_id: 'org_1' }),
    /Index Scan Backward using responses_finished/,
  )
  assert.equal((await listResponsesOfAnyOrg(database.db, { ...ALL, limit: 1000, statuses: ['queued'] })).length, 200)
})
