import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import type { Tx } from '../../../server/platform/db/db.ts'
import { newId } from '../../../server/platform/ids.ts'
import { STATUSES, type Status } from '../../../server/videos/job.ts'
import { type JobFilter, listJobs } from '../../../server/videos/store-list.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { assertInvalid } from '../../support/http/videos-app.ts'

const MODELS = ['alpha', 'beta']

let app: TestApp
let person: TestPerson
let other: TestPerson
before(async () => {
  app = await startApp()
  person = await newCustomer(app)
  other = await newCustomer(app)
  for (const owner of [person, other]) await insertJobs(owner, 140)
})
after(() => app.close())

/** Jobs in every status and of both models, in turn, written straight into the table. */
async function insertJobs({ org_id, user_id }: TestPerson, count: number): Promise<void> {
  const now = app.clock.now()
  for (let i = 0; i < count; i++) {
    const status = STATUSES[i % STATUSES.length]!
    const ended = status === 'completed' || status === 'failed' || status === 'canceled'
    await app.database.pool.query(
      `insert into video_jobs (id, org_id, user_id, request_id, model, prompt, seconds, aspect_ratio, inputs, per_second, cost, currency,
         created_at, next_run_at, status, finished_at, completed_at, error_code, error_message, blob_key, output_sha256, output_size_bytes,
         progress)
       values ($1, $2, $3, 'req', $4, 'p', 4, '16:9', '[]', 1, 4, 'usd', $5, $5, $6, $7, $8, $9, $9, $10, $10, $11, $12)`,
      [
        ...[newId('video', new Date(now.getTime() + i)), org_id, user_id, MODELS[(i >> 1) % 2], now, status],
        ...[ended ? now : null, status === 'completed' ? now : null, status === 'failed' ? 'render_failed' : null],
        ...(status === 'completed' ? ['0'.repeat(64), 1, 100] : [null, null, 0]),
      ],
    )
  }
}

async function list(query: string): Promise<Array<{ id: string; status: Status; model: string }>> {
  const seen = []
  for (let after = ''; ; ) {
    const { status, body } = await send(app, 'GET', `/v1/videos?limit=7&${query}${after}`, { key: person.key })
    assert.equal(status, 200, JSON.stringify(body))
    seen.push(...body.data)
    if (!body.has_more) return seen
    after = `&after=${body.last_id}`
  }
}

test('200 with the jobs of one status, of several, of a model, or of both, in the order of the whole list, page by page', async () => {
  for (const order of ['desc', 'asc']) {
    const all = await list(`order=${order}`)
    assert.equal(all.length, 140)
    for (const statuses of [['failed'], ['queued'], ['completed', 'in_progress', 'canceled'], STATUSES, null]) {
      for (const model of [null, 'alpha', 'nothing']) {
        const query = [
          ...[`order=${order}`, ...(statuses ? [`status=${statuses.join(',')}`] : [])],
          ...(model ? [`model=${model}`] : []),
        ]
        const fits = (job: { status: Status; model: string }) =>
          (!statuses || statuses.includes(job.status)) && (!model || job.model === model)
        assert.deepEqual(await list(query.join('&')), all.filter(fits), query.join('&'))
      }
    }
  }
})

test('400 for an unknown status, and for an empty one', async () => {
  for (const status of ['done', 'completed,done', '', 'completed,', 'cancelled']) {
    const answer = await send(app, 'GET', `/v1/videos?status=${status}`, { key: person.key })
    assertInvalid(answer, 'status')
  }
})

test('a filtered page reads what it shows and at most the jobs that have not ended, however many others there are', async () => {
  const owner = await newCustomer(app)
  const { pool } = app.database
  await pool.query(
    `insert into video_jobs (id, org_id, user_id, request_id, model, prompt, seconds, aspect_ratio, inputs, per_second, cost, currency,
       created_at, next_run_at, status, finished_at, error_code, error_message)
     select 'video_01' || lpad(upper(to_hex(i)), 24, '0'), $1, $2, 'req', case when i % 5000 = 0 then 'rare' else 'common' end, 'p', 4, '16:9',
       '[]', 1, 4, 'usd', now(), now(), case when i % 4999 = 0 then 'failed' else 'canceled' end, now(),
       case when i % 4999 = 0 then 'render_failed' end, case when i % 4999 = 0 then 'x' end
     from generate_series(1, 20000) as i`,
    [owner.org_id, owner.user_id],
  )
  await pool.query('analyze video_jobs')
  const filters: JobFilter[] = [
    { statuses: ['failed'] },
    { model: 'rare' },
    { statuses: ['failed'], model: 'rare' },
    { statuses: ['queued'] },
    { statuses: ['failed', 'queued', 'completed'] },
  ]
  for (const filter of filters) {
    const read = await rowsReadFor((db) => listJobs(db, owner.org_id, { limit: 5, after: null, order: 'desc' }, filter))
    assert.ok(read > 0 || filter.statuses?.[0] === 'queued')
    assert.ok(read < 500, `${JSON.stringify(filter)}: ${read} rows of 20,000 were read`)
  }
})

/** Rows of the table that a query fetches. */
function rowsReadFor(query: (tx: Tx) => Promise<unknown>): Promise<number> {
  return app.database.db.transaction().execute(async (tx) => {
    await query(tx)
    const { rows } = await sql<{ read: string }>`
      select seq_tup_read + idx_tup_fetch as read from pg_stat_xact_user_tables where relname = 'video_jobs'`.execute(
      tx,
    )
    return Number(rows[0]!.read)
  })
}
