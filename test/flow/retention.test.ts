import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { allSweeps } from '../../server/assembly/background.ts'
import { runAudit } from '../../server/audit/audit.ts'
import { samplePicture } from '../support/data/media.ts'
import { send } from '../support/http/send.ts'
import { type PipelineApp, startPipelineApp, upload } from './pipeline-app.ts'

const DAY = 86_400
const DAYS_30 = 30 * DAY

let service: PipelineApp
before(async () => {
  service = await startPipelineApp()
})
after(() => service.close())
beforeEach(() => service.app.clock.set(new Date()))

/** Every periodic duty once, as the service would have done by now. */
async function sweep(): Promise<void> {
  for (const each of allSweeps(service.app.ctx, service.app.ctx.db)) await each.run()
  const broken = (await runAudit(service.app.ctx.db, service.app.clock.now())).filter(
    ({ violations }) => violations > 0,
  )
  assert.deepEqual(broken, [])
}
const read = async (path: string) =>
  (await fetch(service.app.url + path, { headers: { authorization: `Bearer ${service.customer.key}` } })).status
const records = async (id: string) =>
  (await service.app.ctx.db.selectFrom('moderation_records').selectAll().where('job_id', '=', id).execute()).length
const after30Days = (from: Date, seconds: number) =>
  service.app.clock.set(new Date(from.getTime() + (DAYS_30 + seconds) * 1000))

test('job, prompt and clip are there a second before thirty days after the end, and gone within the hour after', async () => {
  const { blobs } = service.app.ctx
  const id = await service.submit()
  const { finished_at, blob_key } = await service.drive(id)
  after30Days(finished_at!, -1)
  await sweep()
  assert.deepEqual([await read(`/v1/videos/${id}`), await read(`/v1/videos/${id}/content`)], [200, 200])
  assert.equal((await service.row(id)).prompt, 'A paper boat on a calm lake')
  assert.ok(await blobs.size(blob_key!))

  after30Days(finished_at!, 3600)
  await sweep()
  assert.equal(await service.find(id), null)
  await assert.rejects(blobs.size(blob_key!), { name: 'BlobMissing' })
  assert.deepEqual([await read(`/v1/videos/${id}`), await read(`/v1/videos/${id}/content`)], [404, 404])
  const { body } = await send(service.app, 'GET', '/v1/videos', service.customer)
  assert.ok(!body.data.some((job: { id: string }) => job.id === id))
})

test('thirty days count from the end, not from the submission, and failed and canceled jobs go as well', async () => {
  service.engines.conduct({ polls: 1e9 })
  const canceled = await service.submit()
  await service.drive(canceled, ({ status }) => status === 'in_progress')
  service.app.clock.advance(500)
  await send(service.app, 'POST', `/v1/videos/${canceled}/cancel`, service.customer)
  service.engines.conduct({ polls: 0 })
  const failed = await service.submit({ prompt: 'forbidden' })
  await service.drive(failed)
  for (const id of [canceled, failed]) {
    const { created_at, finished_at } = await service.row(id)
    after30Days(id === canceled ? created_at : finished_at!, id === canceled ? 400 : -1)
    await sweep()
    assert.ok(await service.find(id))
  }
  after30Days((await service.row(failed)).finished_at!, 3600)
  await sweep()
  assert.deepEqual([await service.find(canceled), await service.find(failed)], [null, null])
})

test('a charge outlives the job it paid for', async () => {
  const before = await service.balance()
  const id = await service.submit()
  await service.drive(id)
  await send(service.app, 'DELETE', `/v1/videos/${id}`, service.customer)
  assert.equal((await service.balance()).charges, before.charges + 1)
  const { rows } = await service.app.database.pool.query(
    'select count(*)::int as n from ledger_entries where job_id = $1',
    [id],
  )
  assert.equal(rows[0].n, 1)
  await sweep()
})

test('an upload expires after its own thirty days, whatever happens to the job that used it', async () => {
  const file_id = await upload(service, await samplePicture('png'))
  const uploaded = service.app.clock.now()
  service.app.clock.advance(10 * DAY)
  const id = await service.submit({ image_reference: [{ file_id, role: 'first_frame' }] })
  await service.drive(id)
  after30Days(uploaded, -1)
  await sweep()
  assert.deepEqual([await read(`/v1/files/${file_id}`), await read(`/v1/videos/${id}`)], [200, 200])
  after30Days(uploaded, 3600)
  await sweep()
  assert.deepEqual([await read(`/v1/files/${file_id}`), await read(`/v1/videos/${id}`)], [404, 200])
})

test('the moderation record is kept for thirty days, also when the job is deleted, without the prompt', async () => {
  const prompt = `A lighthouse named Wigglesworth ${Date.now()}`
  for (const text of [prompt, `${prompt} forbidden`]) {
    const id = await service.submit({ prompt: text })
    await service.drive(id)
    const record = await service.app.ctx.db
      .selectFrom('moderation_records')
      .selectAll()
      .where('job_id', '=', id)
      .executeTakeFirstOrThrow()
    await send(service.app, 'DELETE', `/v1/videos/${id}`, service.customer)
    assert.equal(await service.find(id), null)
    assert.ok(!JSON.stringify(record).includes('Wigglesworth'))
    after30Days(record.created_at, -1)
    await sweep()
    assert.equal(await records(id), 1)
    after30Days(record.created_at, 3600)
    await sweep()
    assert.equal(await records(id), 0)
    const verdicts = service.app.ctx.db.selectFrom('moderation_verdicts').where('job_id', '=', id).selectAll()
    assert.deepEqual(await verdicts.execute(), [])
    service.app.clock.set(new Date())
  }
})

test('an idempotency key is remembered for 24 hours, also past the deletion of its job, and free afterwards', async () => {
  const start = service.app.clock.now()
  const submit = () =>
    send(
      service.app,
      'POST',
      '/v1/videos',
      { key: service.customer.key, headers: { 'idempotency-key': 'once' } },
      { model: 'outside-1', prompt: 'A boat', seconds: 4, aspect_ratio: '16:9' },
    )
  const first = await submit()
  await service.drive(first.body.id)
  await send(service.app, 'DELETE', `/v1/videos/${first.body.id}`, service.customer)
  service.app.clock.set(new Date(start.getTime() + (DAY - 1) * 1000))
  await sweep()
  const again = await submit()
  assert.deepEqual(again.body, first.body)
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  service.app.clock.set(new Date(start.getTime() + DAY * 1000))
  const fresh = await submit()
  assert.notEqual(fresh.body.id, first.body.id)
  assert.equal(fresh.headers.get('idempotent-replayed'), null)
  await service.drive(fresh.body.id)
})

test('more jobs than one sweep deletes at a time all go', async () => {
  const id = await service.submit({ prompt: 'forbidden' })
  const { finished_at } = await service.drive(id)
  const columns = (
    await service.app.database.pool.query(
      "select string_agg(column_name, ',') as list from information_schema.columns where table_name = 'video_jobs' and column_name <> 'id'",
    )
  ).rows[0].list
  await service.app.database.pool.query('alter table video_jobs disable trigger observe_insert')
  await service.app.database.pool.query(
    `insert into video_jobs (id, ${columns}) select 'video_' || lpad(i::text, 26, '0'), ${columns} from video_jobs, generate_series(1, 1300) i where id = $1`,
    [id],
  )
  after30Days(finished_at!, 3600)
  for (const each of allSweeps(service.app.ctx, service.app.ctx.db)) await each.run()
  const { rows } = await service.app.database.pool.query(
    'select count(*)::int as n from video_jobs where finished_at <= $1',
    [finished_at],
  )
  assert.equal(rows[0].n, 0)
})
