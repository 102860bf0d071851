import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isTerminal, type JobStatus, STATUSES, TRANSITIONS } from '../../server/videos/job.ts'
import { type TestDatabase, testDatabase } from '../support/data/postgres.ts'

/** The transitions of docs/states.md, written out by hand. */
const DOCUMENTED = [
  'moderating translating',
  'moderating failed',
  'moderating canceled',
  'translating queued',
  'translating failed',
  'translating canceled',
  'queued in_progress',
  'queued failed',
  'queued canceled',
  'in_progress completed',
  'in_progress failed',
  'in_progress canceled',
].sort()

let database: TestDatabase
before(async () => {
  database = await testDatabase()
})
after(() => database.close())

/** What a row of that status must have. */
const COLUMNS = {
  completed_at: (status: JobStatus) => (status === 'completed' ? 'now()' : 'null'),
  finished_at: (status: JobStatus) => (isTerminal(status) ? 'now()' : 'null'),
  error_code: (status: JobStatus) => (status === 'failed' ? "'render_failed'" : 'null'),
  error_message: (status: JobStatus) => (status === 'failed' ? "'text'" : 'null'),
  progress: (status: JobStatus) => (status === 'completed' ? '100' : '0'),
  blob_key: (status: JobStatus) => (status === 'completed' ? "'key'" : 'null'),
  output_sha256: (status: JobStatus) => (status === 'completed' ? "'sha'" : 'null'),
  output_size_bytes: (status: JobStatus) => (status === 'completed' ? '1' : 'null'),
}

async function insert(id: string, status: JobStatus): Promise<void> {
  const values = Object.values(COLUMNS).map((value) => value(status))
  await database.pool.query(`
    insert into video_jobs (id, org_id, user_id, request_id, model, prompt, seconds, aspect_ratio, inputs, per_second, cost, currency,
      created_at, next_run_at, status, ${Object.keys(COLUMNS).join()})
    values ('${id}', 'org', 'user', 'req', 'm', 'p', 4, '16:9', '[]', 1, 4, 'usd', now(), now(), '${status}', ${values.join()})`)
}

test('the table of transitions, the trigger of the database and the documentation say the same about every pair', async () => {
  const allowed: string[] = []
  for (const from of STATUSES) {
    for (const to of STATUSES.filter((each) => each !== from)) {
      const id = `${from}-${to}`
      await insert(id, from)
      const set = Object.entries(COLUMNS).map(([name, value]) => `${name} = ${value(to)}`)
      try {
        await database.pool.query(`update video_jobs set status = '${to}', ${set.join()} where id = '${id}'`)
        allowed.push(`${from} ${to}`)
      } catch (error) {
        assert.match((error as Error).message, /may not go from/)
      }
    }
  }
  const coded = Object.entries(TRANSITIONS).flatMap(([from, all]) => all.map((to) => `${from} ${to}`))
  assert.deepEqual(allowed.sort(), DOCUMENTED)
  assert.deepEqual(coded.sort(), DOCUMENTED)
})

/** Those of a stored response. */
const OF_RESPONSES = [
  'queued in_progress',
  'queued failed',
  'queued cancelled',
  'in_progress completed',
  'in_progress incomplete',
  'in_progress failed',
  'in_progress cancelled',
].sort()

test('a stored response moves along its transitions and no other', async () => {
  const statuses = ['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']
  const columnsOf = (status: string) => {
    const open = status === 'queued' || status === 'in_progress'
    return {
      status: `'${status}'`,
      completed_at: status === 'completed' ? 'now()' : 'null',
      finished_at: open ? 'null' : 'now()',
      request: open ? "'{}'" : 'null',
      next_run_at: open ? 'now()' : 'null',
    }
  }
  const allowed: string[] = []
  for (const from of statuses) {
    for (const to of statuses.filter((each) => each !== from)) {
      const id = `${from}-${to}`
      const columns = columnsOf(from)
      await database.pool.query(`
        insert into responses (id, org_id, user_id, request_id, model, background, body, size_bytes, created_at, ${Object.keys(columns).join()})
        values ('${id}', 'org', 'user', 'req', 'm', true, '{}', 0, now(), ${Object.values(columns).join()})`)
      const set = Object.entries(columnsOf(to)).map(([name, value]) => `${name} = ${value}`)
      try {
        await database.pool.query(`update responses set ${set.join()} where id = '${id}'`)
        allowed.push(`${from} ${to}`)
      } catch (error) {
        assert.match((error as Error).message, /may not go from/)
      }
    }
  }
  assert.deepEqual(allowed.sort(), OF_RESPONSES)
})

test('the database refuses a status without what belongs to it, and what belongs to another', async () => {
  await insert('bare', 'in_progress')
  for (const set of [
    "status = 'completed'",
    "status = 'failed'",
    "status = 'canceled'",
    'progress = 100',
    'completed_at = now()',
    'finished_at = now()',
    "blob_key = 'k', output_sha256 = 's', output_size_bytes = 1",
    "error_code = 'render_failed', error_message = 't'",
    'cost = 5',
  ]) {
    await assert.rejects(database.pool.query(`update video_jobs set ${set} where id = 'bare'`), /check constraint/, set)
  }
})

test('the database refuses a second charge for a job, and any change of the ledger', async () => {
  const { pool } = database
  await pool.query(
    "insert into organizations (id, name, name_key, slug, plan, created_at) values ('org', 'Org', 'org', 'org', 'free', now())",
  )
  await pool.query("insert into accounts (org_id) values ('org')")
  const charge = (id: string) =>
    pool.query(
      "insert into ledger_entries (id, org_id, kind, amount, job_id, model, created_at) values ($1, 'org', 'charge', -4, 'j', 'm', now())",
      [id],
    )
  await charge('e1')
  await assert.rejects(charge('e2'), /one_charge_per_job/)
  for (const statement of [
    'update ledger_entries set amount = 0',
    'delete from ledger_entries',
    'truncate ledger_entries',
  ]) {
    await assert.rejects(pool.query(statement), /append-only/)
  }
  await assert.rejects(pool.query("update accounts set held = -1 where org_id = 'org'"), /check constraint/)
  await assert.rejects(pool.query("update accounts set running = -1 where org_id = 'org'"), /check constraint/)
})
