import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import type { Tx } from '../../../server/platform/db/db.ts'
import { openByteBudget } from '../../../server/platform/http/body/byte-budget.ts'
import { newId } from '../../../server/platform/ids.ts'
import { type JobStatus, STATUSES } from '../../../server/videos/job.ts'
import { type JobFilter, listJobs } from '../../../server/videos/list/store.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { assertInvalid, insertLongJobs } from '../../support/http/videos-app.ts'

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

async function list(query: string): Promise<Array<{ id: string; status: JobStatus; model: string }>> {
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
        const fits = (job: { status: JobStatus; model: string }) =>
          (!statuses || statuses.includes(job.status)) && (!model || job.model === model)
        assert.deepEqual(await list(query.join('&')), all.filter(fits), query.join('&'))
      }
    }
  }
})

test('a page of long prompts is read when there is room for it in the memory of its organization: until then 429, and 200 for others', async () => {
  const budget = openByteBudget({ owner: 1_000_000, wait_seconds: 0.01 })
  const small = await startApp({ beside: app, budget })
  const [owner, rival] = [await newCustomer(app), await newCustomer(app)]
  const ids = await insertLongJobs(app.database, owner, 40)
  await insertLongJobs(app.database, rival, 40)
  const page = ({ key }: TestPerson, query = 'limit=40') => send(small, 'GET', `/v1/videos?${query}`, { key })
  const others = budget.open(`${owner.org_id} reads`)
  assert.equal(others.add(1_000_001), undefined)
  for (const query of ['limit=40', 'limit=40&model=instant-1', 'limit=1']) {
    const refused = await page(owner, query)
    assert.deepEqual([refused.status, refused.body.error?.code], [429, 'too_many_requests'], query)
  }
  for (const able of [rival, person]) assert.equal((await page(able)).status, 200)
  others.end()
  const answer = await page(owner)
  assert.deepEqual(
    answer.body.data.map(({ id }: { id: string }) => id),
    ids.toReversed(),
  )
  assert.deepEqual(answer.body.data[0], (await send(app, 'GET', `/v1/videos/${ids.at(-1)}`, owner)).body)
  assert.deepEqual((await send(small, 'HEAD', '/v1/videos?limit=40', owner)).status, 200)
  assert.equal(budget.held(), 0)
  await small.close()
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
  let total = 0
  for (const filter of filters) {
    const page = { org_id: owner.org_id, limit: 5, after: null, order: 'desc', bytes_max: 1000, ...filter } as const
    const read = await rowsReadFor((db) => listJobs(db, page))
    // After a vacuum, an index alone may answer one of them.
    total += read
    assert.ok(read < 500, `${JSON.stringify(filter)}: ${read} rows of 20,000 were read`)
  }
  assert.ok(total > 0)
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
