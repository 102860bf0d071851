import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { FAILURES } from '../../server/videos/job.ts'
import type { Fault } from '../support/upstream/engine-server/faults.ts'
import { type PipelineApp, startPipelineApp } from './pipeline-app.ts'

const OUTSIDE = '{ kind: videos-api, dialect: openai, base_url: "{engines}", model: wan, start_timeout_seconds: 1 }'

let service: PipelineApp
before(async () => {
  service = await startPipelineApp({ model: OUTSIDE })
})
after(() => service.close())
afterEach(async () => {
  service.engines.unscript()
  service.engines.release()
  service.engines.conduct({ polls: 0, omit: [] })
  assert.deepEqual(await service.app.audit(), {})
})

const START = { method: 'POST', path: '/v1/videos' } as const
const LIST = { method: 'GET', path: '/v1/videos' } as const

/** Runs a whole job and returns how it ended, how many renders began, and how many charges were made. */
async function outcome(body: Record<string, unknown> = {}) {
  const before = { started: service.engines.started(), ...(await service.balance()) }
  const id = await service.submit(body)
  const job = await service.drive(id)
  const { charges, held } = await service.balance()
  assert.equal(held, 0n)
  return {
    ends: job.error_code ?? job.status,
    started: service.engines.started() - before.started,
    charges: charges - before.charges,
  }
}

const ONCE = { ends: 'completed', started: 1, charges: 1 }

test('a start that is refused temporarily stays queued, backs off, and succeeds in the end', async () => {
  service.engines.script({ ...START, times: 4, fault: { kind: 'status', status: 503 } })
  const id = await service.submit()
  const waits: number[] = []
  for (let tries = 1; tries <= 4; tries++) {
    const job = await service.drive(id, (now) => now.tries === tries)
    assert.equal(job.status, 'queued')
    waits.push((job.next_run_at.getTime() - service.app.clock.now().getTime()) / 1000)
  }
  for (const [i, wait] of waits.entries()) assert.ok(wait >= 0.75 * 2 ** i && wait <= 2 ** i, `wait ${i} was ${wait} s`)
  assert.equal((await service.drive(id)).status, 'completed')
})

test('an engine that sends Retry-After is not called earlier', async () => {
  service.engines.script({ ...START, fault: { kind: 'status', status: 429, headers: { 'retry-after': '40' } } })
  const id = await service.submit()
  const job = await service.drive(id, ({ tries }) => tries === 1)
  assert.equal(job.next_run_at.getTime() - service.app.clock.now().getTime(), 40_000)
  assert.equal((await service.drive(id)).status, 'completed')
})

const UNKNOWN: Record<string, Fault> = {
  'reply lost': { kind: 'lost_reply' },
  'reply cut': { kind: 'cut' },
  'length wrong': { kind: 'wrong_length' },
}
for (const [name, fault] of Object.entries(UNKNOWN)) {
  test(`${name} after the engine accepted: the render is found in its list, and no second one begins`, async () => {
    service.engines.conduct({ polls: 1 })
    service.engines.script({ ...START, fault })
    assert.deepEqual(await outcome({ prompt: `A boat, ${name}` }), ONCE)
  })
}

test('a start without an answer is unsettled; if it was accepted, its render is found and no second one begins', async () => {
  service.engines.conduct({ polls: 1 })
  service.engines.script({ ...START, fault: { kind: 'stall' } })
  const started = service.engines.started()
  const id = await service.submit({ prompt: 'A boat that waits' })
  await service.drive(id, ({ tries }) => tries === 1)
  service.engines.release()
  assert.equal((await service.drive(id)).status, 'completed')
  assert.equal(service.engines.started() - started, 1)
})

test('a start of unknown outcome that the list does not show is made once more; the customer is charged once', async () => {
  service.engines.script({ ...START, fault: { kind: 'lost_reply' } })
  service.engines.conduct({ omit: ['prompt'] })
  assert.deepEqual(await outcome(), { ends: 'completed', started: 2, charges: 1 })
})

test('a list that cannot be read for the moment is asked again before anything is started twice', async () => {
  service.engines.script({ ...START, fault: { kind: 'lost_reply' } })
  service.engines.script({ ...LIST, times: 3, fault: { kind: 'status', status: 500 } })
  assert.deepEqual(await outcome({ prompt: 'A boat behind a broken list' }), ONCE)
})

test('an engine without a list is asked to start once more instead of failing the job', async () => {
  for (const status of [400, 404, 405]) {
    service.engines.script({ ...START, fault: { kind: 'status', status: 503 } })
    service.engines.script({ ...LIST, times: 9, fault: { kind: 'status', status } })
    assert.deepEqual(await outcome(), ONCE, `list answers ${status}`)
    service.engines.unscript()
  }
})

test('a job that cannot be started in time fails with queue_timeout, at its time whatever the engine asks for', async () => {
  service.engines.script({
    ...START,
    times: 999,
    fault: { kind: 'status', status: 503, headers: { 'retry-after': '250' } },
  })
  const id = await service.submit()
  const job = await service.drive(id)
  assert.equal(job.error_code, 'queue_timeout')
  assert.equal(job.finished_at!.getTime() - job.queued_at!.getTime(), 600_000)
  assert.deepEqual((await service.balance()).held, 0n)
})

const REFUSALS: Array<[name: string, status: number, body: object, code: string]> = [
  ['a refusal for good', 401, {}, 'render_failed'],
  ['a model it does not have', 404, {}, 'render_failed'],
  ['a request it does not like', 422, { error: { message: 'no' } }, 'render_failed'],
  ['its own filter', 400, { error: { code: 'content_policy_violation', message: 'sexual' } }, 'moderation_blocked'],
]
for (const [name, status, body, code] of REFUSALS) {
  test(`the engine answers a start with ${name}: ${code} straight from queued`, async () => {
    service.engines.script({ ...START, fault: { kind: 'status', status, body } })
    const id = await service.submit()
    assert.equal((await service.drive(id)).error_code, code)
    assert.deepEqual(await service.statuses(id), ['moderating', 'translating', 'queued', 'failed'])
  })
}

test('the text of a rejection by the engine is the fixed one, whatever the engine says', async () => {
  const texts = new Set<string | null>()
  for (const message of ['sexual content', 'violence at 0:03']) {
    const body = { error: { code: 'content_filter', message } }
    service.engines.script({ ...START, fault: { kind: 'status', status: 400, body } })
    texts.add((await service.drive(await service.submit())).error_message)
  }
  assert.deepEqual([...texts], [FAILURES.moderation_blocked])
})
