import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { FAILURES } from '../../server/videos/job.ts'
import { samplePicture } from '../support/data/media.ts'
import { send } from '../support/http/send.ts'
import type { Fault } from '../support/upstream/engine-server/faults.ts'
import { COST, type PipelineApp, startPipelineApp, upload } from './pipeline-app.ts'

let service: PipelineApp
before(async () => {
  service = await startPipelineApp()
})
after(() => service.close())
afterEach(async () => {
  service.engines.unscript()
  service.engines.conduct({ polls: 0, status: 'completed', error: null })
  assert.deepEqual(await service.app.audit(), {})
})

const POLL = { method: 'GET', path: /^\/v1\/videos\/[^/]+$/ } as const
const deleted = () => service.engines.requests.filter(({ method }) => method === 'DELETE').length

/** A job whose render runs. */
async function running(body: Record<string, unknown> = {}): Promise<string> {
  service.engines.conduct({ polls: 1 })
  const id = await service.submit(body)
  await service.drive(id, ({ status, progress }) => status === 'in_progress' && progress > 0)
  return id
}

const status = (code: number, headers = {}): Fault => ({ kind: 'status', status: code, body: {}, headers })
const answer = (body: object | string): Fault => ({ kind: 'status', status: 200, body })
const SILENCE: Record<string, Fault> = {
  reset: { kind: 'reset' },
  'reply lost': { kind: 'lost_reply' },
  cut: { kind: 'cut' },
  'wrong length': { kind: 'wrong_length' },
  garbage: { kind: 'garbage' },
  'gzip bomb': { kind: 'gzip_bomb' },
  400: status(400),
  401: status(401),
  403: status(403),
  408: status(408),
  429: status(429, { 'retry-after': '7' }),
  500: status(500),
  503: status(503),
  redirect: status(302, { location: 'http://127.0.0.1:1/' }),
  HTML: answer('<html>'),
  'empty object': answer({}),
  list: answer([]),
  'status as number': answer({ id: 'x', status: 3 }),
  'unknown status': answer({ id: 'x', status: 'pondering' }),
}

test(`${Object.keys(SILENCE).length} kinds of poll that say nothing about the render keep job and hold, then it completes`, async () => {
  for (const [name, fault] of Object.entries(SILENCE)) {
    const id = await running()
    const { started } = { started: service.engines.started() }
    service.engines.script({ ...POLL, times: 2, fault })
    service.app.clock.set((await service.row(id)).next_run_at)
    await service.app.tick()
    assert.equal((await service.row(id)).status, 'in_progress', name)
    assert.equal((await service.balance()).held, COST, name)
    assert.equal((await service.drive(id)).status, 'completed', name)
    assert.equal(service.engines.started(), started, name)
  }
})

test('a render that does not end in time is canceled at the engine and fails with render_timeout', async () => {
  service.engines.conduct({ polls: 1e9 })
  const before = deleted()
  const id = await service.submit()
  const job = await service.drive(id)
  assert.equal(job.error_code, 'render_timeout')
  assert.equal(job.finished_at!.getTime() - job.render_started_at!.getTime(), 600_000)
  assert.equal(deleted() - before, 1)
  assert.deepEqual((await service.balance()).held, 0n)
})

test('an engine that asks for a pause of an hour does not extend the time limit of the render', async () => {
  const id = await running()
  service.engines.script({
    ...POLL,
    times: 99,
    fault: { ...answer({ id: 'x', status: 'queued' }), headers: { 'retry-after': '3600' } } as Fault,
  })
  const job = await service.drive(id)
  assert.equal(job.error_code, 'render_timeout')
  assert.equal(job.finished_at!.getTime() - job.render_started_at!.getTime(), 600_000)
})

test('no answer until the time limit is a render_timeout too, and the hold is released', async () => {
  const id = await running()
  service.engines.script({ ...POLL, times: 9999, fault: status(401) })
  assert.equal((await service.drive(id)).error_code, 'render_timeout')
  assert.deepEqual((await service.balance()).held, 0n)
})

test('a render with a transient failure is restarted, and the job completes with one charge', async () => {
  service.engines.conduct({ status: 'failed', error: { code: 'server_error' } })
  const before = { started: service.engines.started(), ...(await service.balance()) }
  const id = await service.submit()
  const first = await service.drive(id, ({ attempt }) => attempt?.state === 'failed')
  service.engines.conduct({ status: 'completed', error: null })
  const job = await service.drive(id)
  assert.equal(job.status, 'completed')
  assert.deepEqual([first.attempt?.number, job.attempt?.number], [1, 2])
  assert.equal(service.engines.started() - before.started, 2)
  assert.equal((await service.balance()).charges - before.charges, 1)
})

test('a new attempt still has its inputs when their file was deleted after the first had begun', async () => {
  const picture = await samplePicture('png')
  const file_id = await upload(service, picture)
  service.engines.conduct({ status: 'expired' })
  const id = await service.submit({ image_reference: [{ file_id, role: 'first_frame' }] })
  await service.drive(id, ({ attempt }) => attempt?.state === 'failed')
  await send(service.app, 'DELETE', `/v1/files/${file_id}`, service.customer)
  service.engines.conduct({ status: 'completed' })
  const seen = service.engines.requests.length
  assert.equal((await service.drive(id)).status, 'completed')
  const again = service.engines.requests.slice(seen).find(({ method }) => method === 'POST')!
  assert.ok(again.body.includes(Buffer.from(picture)))
})

test('a render the engine lost is restarted once; lost again, the job fails', async () => {
  const id = await running()
  service.engines.forget()
  assert.equal((await service.drive(id)).status, 'completed')

  const started = service.engines.started()
  const again = await running()
  service.engines.forget()
  await service.drive(again, ({ attempt }) => attempt?.number === 2 && attempt.state === 'rendering')
  service.engines.forget()
  const job = await service.drive(again)
  assert.deepEqual([job.error_code, job.attempt?.number, job.attempt?.state], ['render_failed', 2, 'lost'])
  assert.equal(service.engines.started() - started, 2)
})

const VERDICTS: Array<[error: object, code: string]> = [
  [{ code: 'content_policy_violation', message: 'nudity at 0:02' }, 'moderation_blocked'],
  [{ code: 'output_moderation', message: 'violence' }, 'moderation_blocked'],
  [{ code: 'invalid_image', message: 'bad picture' }, 'invalid_reference_media'],
  [{ code: 'bad_prompt', message: 'too strange' }, 'render_failed'],
]
test("the engine's verdict on a render ends the job with the code for it and a text that does not vary", async () => {
  for (const [error, code] of VERDICTS) {
    service.engines.conduct({ polls: 1, status: 'failed', error })
    const started = service.engines.started()
    const id = await service.submit()
    const job = await service.drive(id)
    assert.deepEqual([job.error_code, job.error_message], [code, FAILURES[code as keyof typeof FAILURES]])
    assert.deepEqual((await service.statuses(id)).slice(-2), ['in_progress', 'failed'])
    assert.equal(service.engines.started() - started, 1)
  }
  assert.deepEqual((await service.balance()).held, 0n)
})
