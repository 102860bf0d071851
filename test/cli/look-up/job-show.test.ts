import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { type PipelineApp, startPipelineApp } from '../../flow/pipeline-app.ts'
import { runCommand } from '../../support/command.ts'
import { send } from '../../support/http/send.ts'
import { deliverDue, newEndpoint, startReceiver } from '../../support/webhooks/app.ts'

let service: PipelineApp
before(async () => {
  service = await startPipelineApp({ more: 'webhooks: { allow_loopback: true }' })
})
after(() => service.close())
afterEach(() => {
  service.engines.unscript()
  service.engines.conduct({ polls: 0, status: 'completed', error: null })
})

const show = (id: string, ...more: string[]) =>
  runCommand(['admin', 'job', 'show', id, ...more], { DATABASE_URL: service.app.database.url })

// biome-ignore lint/suspicious/noExplicitAny: what the command prints.
async function shown(id: string): Promise<any> {
  const { code, stdout, stderr } = await show(id, '--json')
  assert.equal(code, 0, stderr)
  assert.doesNotMatch(stdout, /canary/)
  return JSON.parse(stdout)
}

/** What is printed for people: no line is longer than a terminal is wide, and no prompt is in it. */
async function printed(id: string): Promise<string> {
  const { code, stdout, stderr } = await show(id)
  assert.equal(code, 0, stderr)
  assert.deepEqual(
    stdout.split('\n').filter(({ length }) => length > 100),
    [],
  )
  assert.doesNotMatch(stdout, /canary|[^\P{Cc}\n]/u)
  return stdout
}

const POLL = { method: 'GET', path: /^\/v1\/videos\/[^/]+$/ } as const

/** A job whose render the engine goes on with. */
async function rendering(): Promise<string> {
  service.engines.conduct({ polls: 3 })
  const id = await service.submit({ prompt: 'A canary in the prompt' })
  await service.drive(id, ({ status, progress }) => status === 'in_progress' && progress > 0)
  return id
}

test('job show names the engine, the ticket and since when a render goes on', async () => {
  const id = await rendering()
  const job = await shown(id)
  assert.deepEqual([job.id, job.organization_id, job.status], [id, service.customer.org_id, 'in_progress'])
  assert.equal(job.cost, '0.04000000')
  const row = await service.row(id)
  assert.deepEqual([job.waits.for, job.waits.since], ['render', row.attempt!.answered_at!.toISOString()])
  const [attempt] = job.attempts
  assert.deepEqual([attempt.number, attempt.state, attempt.last_error], [1, 'rendering', null])
  assert.deepEqual(attempt.ticket, row.attempt!.ticket)
  assert.match(attempt.engine_address, new RegExp(service.engines.url))
  assert.deepEqual(
    job.stages.map(({ stage }: { stage: string }) => stage),
    ['moderating', 'translating', 'queued', 'in_progress'],
  )
  assert.equal(job.stages[3].until, null)
  const { amount, state } = job.hold
  assert.deepEqual([amount, state, job.charge, job.deliveries], ['0.04000000', 'placed', null, []])
  const { render_seconds } = service.app.ctx.config.limits
  assert.equal(Date.parse(job.fails_at), row.render_started_at!.getTime() + render_seconds * 1000)
  assert.match(
    await printed(id),
    /waits for +render, since 20\d\d-.*Z, .*\n +The engine renders, \d+ %\.\nfails +20\d\d-.*Z, in \d+\w, unless it ends before\n/,
  )
})

test('job show says how often polls have failed, and that the engine does not know the render', async () => {
  const id = await rendering()
  service.engines.script({ ...POLL, times: 2, fault: { kind: 'status', status: 503, body: {} } })
  service.app.clock.set((await service.row(id)).next_run_at)
  await service.app.tick()
  assert.match((await shown(id)).waits.detail, / Failed once: poll_failed in the log\.$/)
  service.engines.script({ ...POLL, times: 2, fault: { kind: 'status', status: 404, body: {} } })
  service.app.clock.set((await service.row(id)).next_run_at)
  await service.app.tick()
  const { waits, attempts } = await shown(id)
  assert.deepEqual([waits.for, waits.since], ['render', attempts[0].missing_since])
  assert.match(waits.detail, /does not know the render/)
})

test('job show has the last answer of an engine that takes no start', async () => {
  const busy = { kind: 'status' as const, status: 503, body: { error: { message: 'all \u001b[2J GPUs are busy' } } }
  service.engines.script({ method: 'POST', path: '/v1/videos', times: 2, fault: busy })
  const id = await service.submit({ prompt: 'A canary in the prompt' })
  await service.drive(id, ({ tries }) => tries === 2)
  const { waits, attempts, next_step, stages } = await shown(id)
  assert.deepEqual([waits.for, waits.since], ['engine', stages.at(-1).since])
  assert.match(waits.detail, /^Start 1 began nothing, 2 in a row: /)
  assert.deepEqual([attempts.length, attempts[0].state, next_step.tries], [1, 'not_begun', 2])
  assert.match(attempts[0].last_error, /503/)
  assert.match(await printed(id), /start 1 +not_begun, .*\n +last error +\S/)
})

test('job show says that a job is due and that no node which runs jobs is alive', async () => {
  const id = await rendering()
  await service.app.database.pool.query(
    "update video_jobs set next_run_at = now() - interval '5 minutes' where id = $1",
    [id],
  )
  const { waits, next_step } = await shown(id)
  assert.deepEqual([waits.for, waits.since], ['worker', next_step.due_at])
  assert.match(waits.detail, /^No node that runs jobs is alive\. Then: The engine renders/)
  assert.match(await printed(id), /waits for +worker, since .*Z, 5m ago\n/)
})

test('job show has the charge of a completed job and what became of its webhooks', async (t) => {
  const receiver = await startReceiver()
  t.after(receiver.close)
  receiver.answer({ status: 500 })
  const endpoint = await newEndpoint({ app: service.app, person: service.customer, receiver })
  const id = await service.submit({ prompt: 'A canary in the prompt' })
  await service.drive(id)
  await deliverDue(service.app)
  const job = await shown(id)
  assert.deepEqual([job.status, job.waits, job.next_step, job.hold.state], ['completed', null, null, 'captured'])
  assert.deepEqual([job.charge.amount, job.charge.created_at], ['0.04000000', job.finished_at])
  const [delivery] = job.deliveries
  assert.deepEqual(
    [delivery.endpoint_id, delivery.type, delivery.state, delivery.attempts, delivery.status_code],
    [endpoint.id, 'video.completed', 'pending', 1, 500],
  )
  assert.ok(delivery.next_try_at > delivery.last_try_at)
  assert.match(
    await printed(id),
    /webhook +video\.completed to http:\/\/127\.0\.0\.1:\d+\/hook: pending after 1 try; last\s+error:\s+status 500/,
  )
})

test('job show says that the engine is still to be asked to stop the render of a canceled job', async () => {
  const id = await rendering()
  await send(service.app, 'POST', `/v1/videos/${id}/cancel`, service.customer)
  const { status, waits, hold } = await shown(id)
  assert.deepEqual([status, hold.state], ['canceled', 'released'])
  // On a busy machine the command may come so late that no worker claimed it in time: then it says that first.
  assert.match(waits.detail, /The engine is still to be asked to stop the render\.$/)
})

test('job show of a job that there is not is one sentence', async () => {
  const { code, stderr, stdout } = await show('video_00000000000000000000000000')
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /There is no job video_0{26}\./)
})
