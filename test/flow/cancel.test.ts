import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { cancelAtEngine } from '../../server/videos/pipeline/cancel.ts'
import { runJob } from '../../server/videos/pipeline/step.ts'
import { claimJob } from '../support/data/claims.ts'
import { send } from '../support/http/send.ts'
import { OPENING, type PipelineApp, startPipelineApp } from './pipeline-app.ts'

let service: PipelineApp
before(async () => {
  service = await startPipelineApp()
})
after(() => service.close())
afterEach(async () => {
  service.engines.unscript()
  service.engines.release()
  service.engines.conduct({ polls: 0, ignores_cancel: false })
  assert.deepEqual(await service.app.audit(), {})
  assert.deepEqual(
    await service.balance(),
    { balance: OPENING, held: 0n, running: 0, charges: 0 },
    'nothing here is ever charged',
  )
  assert.equal(await service.stored(), 0, 'and no clip is kept')
})

const cancel = (id: string) => send(service.app, 'POST', `/v1/videos/${id}/cancel`, service.customer)
const deleted = () => service.engines.requests.filter(({ method }) => method === 'DELETE').map(({ path }) => path)
const live = () => new AbortController().signal

test('a job can be canceled in every status before its end, and its hold is released at once', async () => {
  service.engines.conduct({ polls: 1e9 })
  for (const wanted of ['moderating', 'queued', 'in_progress'] as const) {
    if (wanted === 'queued')
      service.engines.script({ method: 'POST', path: '/v1/videos', fault: { kind: 'status', status: 503 } })
    const id = await service.submit()
    if (wanted !== 'moderating') await service.drive(id, ({ status }) => status === wanted)
    assert.equal((await service.row(id)).status, wanted)
    const { status, body } = await cancel(id)
    assert.deepEqual([status, body.status, body.error, body.completed_at], [200, 'canceled', null, null])
    assert.deepEqual(await service.balance(), { balance: OPENING, held: 0n, running: 0, charges: 0 })
    assert.deepEqual((await cancel(id)).body, body)
  }
})

test('a canceled render is canceled at the engine', async () => {
  service.engines.conduct({ polls: 1e9 })
  const id = await service.submit()
  const { attempt } = await service.drive(id, ({ status }) => status === 'in_progress')
  await cancel(id)
  const before = deleted().length
  await cancelAtEngine(service.app.ctx, id)
  assert.deepEqual(deleted().slice(before), [`/v1/videos/${(attempt!.ticket as { id: string }).id}`])
  assert.equal((await service.row(id)).status, 'canceled')
})

test('an engine that cannot be reached at first is asked again later', async () => {
  service.engines.conduct({ polls: 1e9 })
  const id = await service.submit()
  await service.drive(id, ({ status }) => status === 'in_progress')
  await cancel(id)
  service.engines.script({ method: 'DELETE', fault: { kind: 'reset' } })
  await assert.rejects(cancelAtEngine(service.app.ctx, id))
  await cancelAtEngine(service.app.ctx, id)
  assert.equal([...service.engines.renders.values()].at(-1)!.canceled, true)
})

test('a job canceled while its clip is being fetched stays canceled, and the clip is deleted', async () => {
  service.engines.conduct({ polls: 1, ignores_cancel: true })
  const id = await service.submit()
  await service.drive(id, ({ status, progress }) => status === 'in_progress' && progress > 0)
  service.engines.script({ method: 'GET', path: /\/content$/, fault: { kind: 'stall' } })
  const fetching = service.engines.received('GET', /\/content$/)
  const job = (await claimJob(service.app.ctx.db, id, 'test/late'))!
  const running = runJob(service.app.ctx, job, { signal: live(), faults: new Map() })
  await fetching
  await cancel(id)
  service.engines.release()
  assert.equal(await running, null)
  assert.deepEqual((await service.statuses(id)).slice(-2), ['in_progress', 'canceled'])
})

test('a job canceled while its start is in flight has that render canceled', async () => {
  service.engines.conduct({ polls: 1e9 })
  service.engines.script({ method: 'POST', path: '/v1/videos', fault: { kind: 'stall' } })
  const count = service.engines.requests.length
  const id = await service.submit()
  const job = (await claimJob(service.app.ctx.db, id, 'test/start'))!
  const running = runJob(service.app.ctx, job, { signal: live(), faults: new Map() })
  while (!service.engines.requests.slice(count).some(({ method }) => method === 'POST')) await new Promise(setImmediate)
  await cancel(id)
  service.engines.release()
  assert.equal(await running, null)
  assert.equal([...service.engines.renders.values()].at(-1)!.canceled, true)
})

test('a worker that lost its claim does not cancel the render that another worker now follows', async () => {
  service.engines.conduct({ polls: 1 })
  service.engines.script({ method: 'POST', path: '/v1/videos', fault: { kind: 'stall' } })
  const count = service.engines.requests.length
  const { ctx, database } = service.app
  const id = await service.submit({ prompt: 'A boat with two helmsmen' })
  const slow = runJob(ctx, (await claimJob(ctx.db, id, 'test/slow'))!, { signal: live(), faults: new Map() })
  while (!service.engines.requests.slice(count).some(({ method }) => method === 'POST')) await new Promise(setImmediate)
  await database.pool.query("update video_jobs set claimed_until = now() - interval '1 second' where id = $1", [id])
  const job = (await claimJob(ctx.db, id, 'test/next'))!
  const now = ctx.clock.now()
  await database.pool.query(
    `update video_attempts set ticket = '{"id": "video_${service.engines.started() + 1}", "where": "base"}', state = 'rendering', start_key = null,
       answered_at = $2 where job_id = $1`,
    [id, now],
  )
  await database.pool.query("update video_jobs set status = 'in_progress', render_started_at = $2 where id = $1", [
    id,
    now,
  ])
  service.engines.release()
  assert.equal(await slow, null)
  assert.equal([...service.engines.renders.values()].at(-1)!.canceled, false)
  assert.equal(job.attempt_id, (await service.row(id)).attempt_id)
  await cancel(id)
})

test('a cancellation that is committed is answered 200, also of a row that does not have the time of its stage', async () => {
  service.engines.script({ method: 'POST', path: '/v1/videos', fault: { kind: 'status', status: 503 } })
  const id = await service.submit()
  await service.drive(id, ({ status }) => status === 'queued')
  await service.app.database.pool.query('update video_jobs set queued_at = null where id = $1', [id])
  const { status, body } = await cancel(id)
  assert.deepEqual([status, body.status], [200, 'canceled'])
})
