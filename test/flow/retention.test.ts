import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { allSweeps } from '../../server/app.ts'
import { runAudit } from '../../server/audit/audit.ts'
import { samplePicture } from '../support/data/media.ts'
import { send } from '../support/http/identity-app.ts'
import { openStage, type Stage, upload } from './stage.ts'

const DAY = 86_400
const DAYS_30 = 30 * DAY

let stage: Stage
before(async () => {
  stage = await openStage()
})
after(() => stage.close())
beforeEach(() => stage.app.clock.set(new Date()))

/** Every periodic duty once, as the service would have done by now. */
async function sweep(): Promise<void> {
  for (const each of allSweeps(stage.app.ctx, stage.app.ctx.db)) await each.run()
  const broken = (await runAudit(stage.app.ctx.db, stage.app.clock.now())).filter(({ violations }) => violations > 0)
  assert.deepEqual(broken, [])
}
const read = async (path: string) =>
  (await fetch(stage.app.url + path, { headers: { authorization: `Bearer ${stage.customer.key}` } })).status
const records = async (id: string) =>
  (await stage.app.ctx.db.selectFrom('moderation_records').selectAll().where('job_id', '=', id).execute()).length
const after30Days = (from: Date, seconds: number) =>
  stage.app.clock.set(new Date(from.getTime() + (DAYS_30 + seconds) * 1000))

test('job, prompt and clip are there a second before thirty days after the end, and gone within the hour after', async () => {
  const before = stage.stored()
  const id = await stage.submit()
  const { finished_at } = await stage.drive(id)
  after30Days(finished_at!, -1)
  await sweep()
  assert.deepEqual([await read(`/v1/videos/${id}`), await read(`/v1/videos/${id}/content`)], [200, 200])
  assert.equal((await stage.row(id)).prompt, 'A paper boat on a calm lake')

  after30Days(finished_at!, 3600)
  await sweep()
  assert.equal(await stage.find(id), null)
  assert.equal(stage.stored(), before)
  assert.deepEqual([await read(`/v1/videos/${id}`), await read(`/v1/videos/${id}/content`)], [404, 404])
  const { body } = await send(stage.app, 'GET', '/v1/videos', stage.customer)
  assert.deepEqual(body.data, [])
})

test('thirty days count from the end, not from the submission, and failed and canceled jobs go as well', async () => {
  stage.engines.conduct({ polls: 1e9 })
  const canceled = await stage.submit()
  await stage.drive(canceled, ({ status }) => status === 'in_progress')
  stage.app.clock.advance(500)
  await send(stage.app, 'POST', `/v1/videos/${canceled}/cancel`, stage.customer)
  stage.engines.conduct({ polls: 0 })
  const failed = await stage.submit({ prompt: 'forbidden' })
  await stage.drive(failed)
  for (const id of [canceled, failed]) {
    const { created_at, finished_at } = await stage.row(id)
    after30Days(id === canceled ? created_at : finished_at!, id === canceled ? 400 : -1)
    await sweep()
    assert.ok(await stage.find(id))
  }
  after30Days((await stage.row(failed)).finished_at!, 3600)
  await sweep()
  assert.deepEqual([await stage.find(canceled), await stage.find(failed)], [null, null])
})

test('a charge outlives the job it paid for', async () => {
  const before = await stage.balance()
  const id = await stage.submit()
  await stage.drive(id)
  await send(stage.app, 'DELETE', `/v1/videos/${id}`, stage.customer)
  assert.equal((await stage.balance()).charges, before.charges + 1)
  const { rows } = await stage.app.database.pool.query(
    'select count(*)::int as n from ledger_entries where job_id = $1',
    [id],
  )
  assert.equal(rows[0].n, 1)
  await sweep()
})

test('an upload goes by its own thirty days, whatever becomes of the job it was used for', async () => {
  const file_id = await upload(stage, await samplePicture('png'))
  const uploaded = stage.app.clock.now()
  stage.app.clock.advance(10 * DAY)
  const id = await stage.submit({ image_reference: [{ file_id, role: 'first_frame' }] })
  await stage.drive(id)
  after30Days(uploaded, -1)
  await sweep()
  assert.deepEqual([await read(`/v1/files/${file_id}`), await read(`/v1/videos/${id}`)], [200, 200])
  after30Days(uploaded, 3600)
  await sweep()
  assert.deepEqual([await read(`/v1/files/${file_id}`), await read(`/v1/videos/${id}`)], [404, 200])
})

test('that a submission was moderated is known for thirty days, also when the job is deleted, with no word of it', async () => {
  const prompt = `A lighthouse named Wigglesworth ${Date.now()}`
  for (const text of [prompt, `${prompt} forbidden`]) {
    const id = await stage.submit({ prompt: text })
    await stage.drive(id)
    const record = await stage.app.ctx.db
      .selectFrom('moderation_records')
      .selectAll()
      .where('job_id', '=', id)
      .executeTakeFirstOrThrow()
    await send(stage.app, 'DELETE', `/v1/videos/${id}`, stage.customer)
    assert.equal(await stage.find(id), null)
    assert.ok(!JSON.stringify(record).includes('Wigglesworth'))
    after30Days(record.created_at, -1)
    await sweep()
    assert.equal(await records(id), 1)
    after30Days(record.created_at, 3600)
    await sweep()
    assert.equal(await records(id), 0)
    const verdicts = stage.app.ctx.db.selectFrom('moderation_verdicts').where('job_id', '=', id).selectAll()
    assert.deepEqual(await verdicts.execute(), [])
    stage.app.clock.set(new Date())
  }
})

test('an idempotency key is remembered for 24 hours, also past the deletion of its job, and free afterwards', async () => {
  const start = stage.app.clock.now()
  const submit = () =>
    send(
      stage.app,
      'POST',
      '/v1/videos',
      { key: stage.customer.key, headers: { 'idempotency-key': 'once' } },
      {
        ...{ model: 'outside-1', prompt: 'A boat', seconds: 4, aspect_ratio: '16:9' },
      },
    )
  const first = await submit()
  await stage.drive(first.body.id)
  await send(stage.app, 'DELETE', `/v1/videos/${first.body.id}`, stage.customer)
  stage.app.clock.set(new Date(start.getTime() + (DAY - 1) * 1000))
  await sweep()
  const again = await submit()
  assert.deepEqual(again.body, first.body)
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  stage.app.clock.set(new Date(start.getTime() + DAY * 1000))
  const fresh = await submit()
  assert.notEqual(fresh.body.id, first.body.id)
  assert.equal(fresh.headers.get('idempotent-replayed'), null)
  await stage.drive(fresh.body.id)
})

test('more jobs than one sweep deletes at a time all go', async () => {
  const id = await stage.submit({ prompt: 'forbidden' })
  const { finished_at } = await stage.drive(id)
  const columns = (
    await stage.app.database.pool.query(
      "select string_agg(column_name, ',') as list from information_schema.columns where table_name = 'video_jobs' and column_name <> 'id'",
    )
  ).rows[0].list
  await stage.app.database.pool.query('alter table video_jobs disable trigger observe_insert')
  await stage.app.database.pool.query(
    `insert into video_jobs (id, ${columns}) select 'video_' || lpad(i::text, 26, '0'), ${columns} from video_jobs, generate_series(1, 1300) i where id = $1`,
    [id],
  )
  after30Days(finished_at!, 3600)
  for (const each of allSweeps(stage.app.ctx, stage.app.ctx.db)) await each.run()
  const { rows } = await stage.app.database.pool.query(
    'select count(*)::int as n from video_jobs where finished_at <= $1',
    [finished_at],
  )
  assert.equal(rows[0].n, 0)
})
