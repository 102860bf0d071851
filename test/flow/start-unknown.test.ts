import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import type { Log, LogFields } from '../../server/platform/log.ts'
import { samplePicture } from '../support/data/media.ts'
import type { TestApp } from '../support/http/app.ts'
import { newCustomer, videoBody } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { MODEL, type PipelineApp, startPipelineApp, upload } from './pipeline-app.ts'

const ENGINE = (dialect: string) =>
  `{ kind: videos-api, dialect: ${dialect}, base_url: "{engines}", model: wan, start_timeout_seconds: 1 }`
const START = { method: 'POST', path: '/v1/videos' } as const
const LIST = { method: 'GET', path: '/v1/videos' } as const

const alarms: Array<[event: string, fields: LogFields]> = []
const log: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: (event, fields = {}) => void alarms.push([event, fields]),
}

let listed: PipelineApp
let unlisted: PipelineApp
before(async () => {
  listed = await startPipelineApp({ model: ENGINE('openai') }, { log })
  unlisted = await startPipelineApp({ model: ENGINE('openrouter') }, { log })
})
after(() => Promise.all([listed.close(), unlisted.close()]))
afterEach(async () => {
  alarms.length = 0
  for (const service of [listed, unlisted]) {
    service.engines.unscript()
    service.engines.release()
    service.engines.conduct({ polls: 0, omit: [], extra: {} })
    assert.deepEqual(await service.app.audit(), {})
    assert.equal((await service.balance()).held, 0n)
  }
})

const ALARM = (video_id: string) => [['render_start_unknown', video_id]]
const raised = () => alarms.map(([event, { video_id }]) => [event, video_id])

async function endOf(service: PipelineApp) {
  const before = { started: service.engines.started(), ...(await service.balance()) }
  const id = await service.submit()
  const job = await service.drive(id)
  const { charges } = await service.balance()
  return {
    id,
    code: job.error_code,
    starts: service.engines.started() - before.started,
    charges: charges - before.charges,
  }
}

test('an engine without a list that drops every answer is asked to start twice, never a third time; then the operator is alerted', async () => {
  for (const kind of ['lost_reply', 'cut', 'wrong_length'] as const) {
    unlisted.engines.script({ ...START, times: 999, fault: { kind } })
    const { id, ...rest } = await endOf(unlisted)
    assert.deepEqual(rest, { code: 'render_failed', starts: 2, charges: 0 }, kind)
    assert.deepEqual(raised(), ALARM(id), kind)
    unlisted.engines.unscript()
    alarms.length = 0
  }
})

test('an engine that accepts after its timeout is asked to start twice, never a third time', async () => {
  unlisted.engines.script({ ...START, times: 999, fault: { kind: 'stall' } })
  const asked = unlisted.engines.requests.length
  const id = await unlisted.submit()
  assert.equal((await unlisted.drive(id)).error_code, 'render_failed')
  assert.deepEqual(raised(), ALARM(id))
  const starts = unlisted.engines.requests.slice(asked).filter(({ method }) => method === 'POST')
  assert.equal(starts.length, 2)
})

test('a gateway that lost its engine, 502 or 504, may have begun the render: two starts, no more', async () => {
  for (const status of [502, 504]) {
    unlisted.engines.script({ ...START, times: 999, fault: { kind: 'status', status } })
    const asked = unlisted.engines.requests.length
    assert.equal((await endOf(unlisted)).code, 'render_failed')
    assert.equal(unlisted.engines.requests.slice(asked).filter(({ method }) => method === 'POST').length, 2)
    unlisted.engines.unscript()
  }
})

test('a list that shows nothing does not allow a third start either', async () => {
  for (const body of [{ data: [] }, { data: [{ id: 'video_x', created_at: 4e9 }] }, {}]) {
    listed.engines.script({ ...START, times: 999, fault: { kind: 'lost_reply' } })
    listed.engines.script({ ...LIST, times: 999, fault: { kind: 'status', status: 200, body } })
    const { id, ...rest } = await endOf(listed)
    assert.deepEqual(rest, { code: 'render_failed', starts: 2, charges: 0 }, JSON.stringify(body))
    assert.deepEqual(raised(), ALARM(id))
    listed.engines.unscript()
    alarms.length = 0
  }
})

test('with several matching renders none is chosen: render_failed, nothing charged, an alarm, no second start', async () => {
  const view = (n: number) => ({
    id: `video_twin_${n}`,
    created_at: Math.floor(listed.app.clock.now().getTime() / 1000) + 5,
    model: 'wan',
    prompt: videoBody().prompt,
    seconds: '4',
  })
  listed.engines.script({ ...START, fault: { kind: 'lost_reply' } })
  listed.engines.script({
    ...LIST,
    times: 999,
    fault: { kind: 'status', status: 200, body: { data: [view(1), view(2)] } },
  })
  const { id, ...rest } = await endOf(listed)
  assert.deepEqual(rest, { code: 'render_failed', starts: 1, charges: 0 })
  assert.deepEqual(raised(), ALARM(id))
})

test('an engine that names the render of another job at every start is asked twice, at intervals, then the operator is alerted', async () => {
  const body = { id: 'video_again', status: 'queued' }
  listed.engines.script({ ...START, times: 999, fault: { kind: 'status', status: 200, body } })
  listed.engines.script({ method: 'GET', path: '/v1/videos/video_again', times: 999, fault: { kind: 'reset' } })
  const first = await listed.submit({ prompt: 'A boat' })
  await listed.drive(first, ({ status }) => status === 'in_progress')
  const asked = listed.engines.requests.length
  const id = await listed.submit({ prompt: 'Another boat' })
  assert.equal((await listed.drive(id)).error_code, 'render_failed')
  const starts = listed.engines.requests.slice(asked).filter(({ method }) => method === 'POST')
  assert.equal(starts.length, 2)
  assert.deepEqual(raised(), [['render_taken', id], ['render_taken', id], ...ALARM(id)])
  listed.engines.unscript()
  await send(listed.app, 'POST', `/v1/videos/${first}/cancel`, listed.customer)
})

test('a start that was not answered counts, and so does one whose outcome was learned after all: after both there is no third', async () => {
  listed.engines.conduct({ polls: 2 })
  listed.engines.script({ ...START, fault: { kind: 'reset' } })
  listed.engines.script({ ...START, fault: { kind: 'lost_reply' } })
  const id = await listed.submit({ prompt: 'A boat found late' })
  const begun = await listed.drive(id, ({ status }) => status === 'in_progress')
  assert.equal(begun.attempt?.number, 2)
  listed.engines.forget()
  assert.equal((await listed.drive(id)).error_code, 'render_failed')
  assert.deepEqual(raised(), [])
})

test('a render whose job was canceled before it was known goes to nobody: not to another organization with the same words', async () => {
  const frame = async (service: Pick<PipelineApp, 'app' | 'customer'>, from: string) => {
    const file_id = await upload(service, await samplePicture('png', { from }))
    return { model: MODEL, prompt: 'A boat of two owners', image_reference: [{ file_id, role: 'first_frame' }] }
  }
  const { app } = listed
  const before = listed.engines.started()
  listed.engines.script({ ...START, fault: { kind: 'lost_reply' } })
  const first = await listed.submit(await frame(listed, '#ff0000'))
  await listed.drive(first, ({ attempt }) => attempt?.state === 'unknown')
  assert.equal((await send(app, 'POST', `/v1/videos/${first}/cancel`, listed.customer)).status, 200)
  assert.equal((await send(app, 'DELETE', `/v1/videos/${first}`, listed.customer)).status, 200)

  const customer = await newCustomer(app)
  listed.engines.script({ ...START, fault: { kind: 'reset' } })
  const answer = await send(app, 'POST', '/v1/videos', customer, videoBody(await frame({ app, customer }, '#0000ff')))
  const { error_code, attempt } = await listed.drive(answer.body.id)
  assert.deepEqual([error_code, attempt?.ticket, listed.engines.started() - before], ['render_failed', null, 1])
  assert.deepEqual(raised(), ALARM(answer.body.id))
})

test('only the engine limits how long a start may take', async (t) => {
  const timeouts = t.mock.method(AbortSignal, 'timeout')
  const [served] = listed.app.ctx.engines.video.get(MODEL)!.members
  let given: AbortSignal | undefined
  t.mock.method(served!.engine, 'start', async (_request: unknown, signal: AbortSignal) => {
    given = signal
    return { id: 'video_patient', where: 'base' }
  })
  const id = await listed.submit()
  await listed.drive(id, ({ status }) => status === 'in_progress')
  assert.ok(given)
  assert.ok(!timeouts.mock.calls.some(({ result }) => result === given))
  await send(listed.app, 'POST', `/v1/videos/${id}/cancel`, listed.customer)
})

/** Runs whatever is due in one of the processes, moving the clock on, until no job is left. */
async function driveAll(service: PipelineApp, processes: TestApp[]): Promise<void> {
  for (let steps = 0; steps < 20_000; steps++) {
    await processes[steps % processes.length]!.tick()
    const { rows } = await service.app.database.pool.query(
      'select min(next_run_at) as next from video_jobs where finished_at is null',
    )
    if (rows[0].next === null) return
    if (rows[0].next > service.app.clock.now()) service.app.clock.set(rows[0].next)
  }
  throw new Error('the jobs do not come to an end')
}

/** `jobs` submissions of one prompt by two organizations; every third start loses its answer, in processes that come and go. */
async function equalPrompts(
  service: PipelineApp,
  options: { jobs: number; body?: Record<string, unknown>[]; prompt: string },
) {
  const started = service.engines.started()
  const neighbor = await newCustomer(service.app)
  const body = options.body ?? [{}]
  const ids: string[] = []
  let current = await service.beside()
  for (let i = 0; i < options.jobs; i++) {
    const caller = body.length > 1 || i % 2 === 0 ? service.customer : neighbor
    const changes = { model: MODEL, prompt: options.prompt, ...body[i % body.length] }
    const answer = await send(service.app, 'POST', '/v1/videos', caller, videoBody(changes))
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    ids.push(answer.body.id)
    if (i % 3 === 0) service.engines.script({ ...START, fault: { kind: i % 2 === 0 ? 'lost_reply' : 'cut' } })
    if (i % 5 === 0) service.engines.script({ ...START, fault: { kind: 'reset' } })
    await current.tick()
    if (i % 16 !== 15) continue
    await current.close()
    current = await service.beside()
  }
  await driveAll(service, [service.app, current])
  await current.close()
  const rows = await Promise.all(ids.map((id) => service.row(id)))
  const tickets = new Set(rows.map(({ attempt }) => JSON.stringify(attempt?.ticket)))
  return {
    begun: service.engines.started() - started,
    completed: rows.filter(({ status }) => status === 'completed').length,
    tickets: tickets.size,
  }
}

/** The figures of docs/engines.md are of 192. */
const RENDERS = Number(process.env.RENDERS ?? 20)

test(`${RENDERS} equal prompts in flight, a third of their starts unanswered: as many renders begin, and no two jobs share one`, async () => {
  listed.engines.conduct({ polls: 3 })
  const found = await equalPrompts(listed, { jobs: RENDERS, prompt: 'One boat, again and again' })
  assert.deepEqual(found, { begun: RENDERS, completed: RENDERS, tickets: RENDERS })
  assert.deepEqual(raised(), [])
})

test('equal prompts with different first frames keep their own renders, and none begins twice', async () => {
  listed.engines.conduct({ polls: 3 })
  const body: Record<string, unknown>[] = []
  for (const from of ['#ff0000', '#00ff00', '#0000ff']) {
    const file_id = await upload(listed, await samplePicture('png', { from }))
    body.push({ image_reference: [{ file_id, role: 'first_frame' }] })
  }
  const found = await equalPrompts(listed, { jobs: 18, body, prompt: 'A boat from a picture' })
  assert.deepEqual(found, { begun: 18, completed: 18, tickets: 18 })
  assert.deepEqual(raised(), [])
})

test('a render that one job has is never taken by another, of whatever organization, although the process that began it is gone', async () => {
  listed.engines.conduct({ polls: 5 })
  const first = await listed.beside()
  const prompt = 'A boat that two people want'
  const id = await listed.submit({ prompt })
  await first.tick()
  await first.close()
  assert.equal((await listed.row(id)).status, 'in_progress')
  const neighbor = await newCustomer(listed.app)
  listed.engines.script({ ...START, fault: { kind: 'reset' } })
  const answer = await send(listed.app, 'POST', '/v1/videos', neighbor, videoBody({ model: MODEL, prompt }))
  const second = await listed.beside()
  await driveAll(listed, [second])
  await second.close()
  const [mine, theirs] = [await listed.row(id), await listed.row(answer.body.id)]
  assert.deepEqual([mine.status, theirs.status], ['completed', 'completed'])
  assert.notDeepEqual(mine.attempt?.ticket, theirs.attempt?.ticket)
})
