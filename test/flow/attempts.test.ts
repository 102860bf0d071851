import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import type { Log, LogFields } from '../../server/platform/log.ts'
import type { Job } from '../../server/videos/pipeline/store.ts'
import type { Fault } from '../support/upstream/engine-server/faults.ts'
import { COST, type PipelineApp, startPipelineApp } from './pipeline-app.ts'

const lines: Array<{ event: string } & LogFields> = []
const note = (event: string, fields: LogFields = {}) => void lines.push({ event, ...fields })
const log: Log = { debug: () => {}, info: () => {}, warn: note, error: note }
const logged = (event: string) => lines.filter((line) => line.event === event)

let service: PipelineApp
before(async () => {
  service = await startPipelineApp({}, { log })
})
after(() => service.close())
afterEach(async () => {
  service.engines.unscript()
  service.engines.conduct({ polls: 0, status: 'completed', error: null })
  assert.deepEqual(await service.app.audit(), {})
  const { held, running } = await service.balance()
  assert.deepEqual([held, running], [0n, 0])
  lines.length = 0
})

const POLL = { method: 'GET', path: /^\/v1\/videos\/[^/]+$/ } as const
const CONTENT = { method: 'GET', path: /\/content$/ } as const
const status = (code: number, body: string | object = {}): Fault => ({ kind: 'status', status: code, body })
const HTML = '<html><body><h1>404 Not Found</h1><hr>nginx</body></html>'

/** Runs a job to its end: how it ended, what it cost, and what the engine was asked meanwhile. */
async function outcome(id?: string, prepare: (job: Job) => boolean = () => false) {
  const before = {
    ...(await service.balance()),
    started: service.engines.started(),
    seen: service.engines.requests.length,
  }
  const began = service.app.clock.now().getTime()
  const job_id = id ?? (await service.submit())
  const job = await service.drive(job_id, prepare)
  const { balance } = await service.balance()
  const asked = service.engines.requests.slice(before.seen)
  return {
    job,
    ends: job.error_code ?? job.status,
    paid: before.balance - balance,
    starts: service.engines.started() - before.started,
    seconds: (service.app.clock.now().getTime() - began) / 1000,
    polls: asked.filter(({ method, path }) => method === 'GET' && POLL.path.test(path)).length,
    fetches: asked.filter(({ method, path }) => method === 'GET' && CONTENT.path.test(path)).length,
    deleted: asked.filter(({ method }) => method === 'DELETE').length,
  }
}

for (const [name, body] of [
  ['JSON', { error: { message: 'not found' } }],
  ["a proxy's page", HTML],
] as const)
  test(`a poll answered 404 with ${name} and then as before, the first or a later one, starts nothing`, async () => {
    for (const polls of [0, 2]) {
      service.engines.conduct({ polls })
      const id = await service.submit()
      if (polls > 0) await service.drive(id, ({ progress }) => progress > 0)
      service.engines.script({ ...POLL, times: 2, fault: status(404, body) })
      const { ends, paid, starts, deleted } = await outcome(id)
      assert.deepEqual([ends, paid, starts, deleted], ['completed', COST, polls > 0 ? 0 : 1, 0])
    }
  })

test('a render is believed to be lost after 30 s of asking; it is canceled at the engine before the next start', async () => {
  service.engines.script({ ...POLL, times: 999, fault: status(404) })
  const { deleted, starts, polls, seconds, job } = await outcome(
    undefined,
    ({ attempt }) => attempt?.number === 2 && attempt.state === 'rendering',
  )
  assert.deepEqual([deleted, starts], [1, 2])
  assert.ok(polls >= 6 && seconds >= 30 && seconds < 40, `${polls} polls in ${seconds} s`)
  const calls = service.engines.requests.map(({ method }) => method)
  assert.ok(calls.lastIndexOf('DELETE') < calls.lastIndexOf('POST'), 'in this order')
  service.engines.unscript()
  assert.equal((await service.drive(job.id)).status, 'completed')
})

test('an answer that knows the render begins the 30 s again', async () => {
  service.engines.conduct({ polls: 20 })
  const id = await service.submit()
  for (let round = 0; round < 4; round++) {
    service.engines.script({ ...POLL, times: 4, fault: status(404) })
    await service.drive(id, ({ attempt }) => attempt?.missing_since != null)
    await service.drive(id, ({ attempt }) => attempt?.missing_since == null)
  }
  const { ends, starts } = await outcome(id)
  assert.deepEqual([ends, starts], ['completed', 0])
})

for (const [name, conduct] of [
  ['expired', { status: 'expired', error: null }],
  ['failed with a server error', { status: 'failed', error: { code: 'server_error', message: 'busy' } }],
] as const)
  test(`an engine whose every render is ${name} is paid twice, and one line of the log says how both ended`, async () => {
    service.engines.conduct(conduct)
    const { ends, paid, starts, job } = await outcome()
    assert.deepEqual([ends, paid, starts], ['render_failed', 0n, 2])
    const [line, ...more] = logged('render_given_up')
    assert.deepEqual([line?.video_id, line?.count, more], [job.id, 2, []])
    assert.match(line!.detail!, /^1: transient.*; 2: transient/)
  })

test('causes are counted together: a start without an answer, then a lost render, and there is no third', async () => {
  service.engines.conduct({ polls: 5 })
  service.engines.script({ method: 'POST', path: '/v1/videos', fault: { kind: 'reset' } })
  const id = await service.submit()
  await service.drive(id, ({ attempt }) => attempt?.state === 'rendering')
  service.engines.forget()
  const { ends, starts } = await outcome(id)
  assert.deepEqual([ends, starts], ['render_failed', 0])
  assert.match(
    logged('render_given_up')[0]!.detail!,
    /^1: The engine did not answer.*; 2: The engine no longer knows it/,
  )
})

test('a failure that will not pass, and a rejection, make no second start', async () => {
  for (const code of ['bad_prompt', 'content_policy_violation', 'invalid_image']) {
    service.engines.conduct({ status: 'failed', error: { code, message: 'no' } })
    assert.equal((await outcome()).starts, 1, code)
  }
})

test('starts that an engine is too busy for do not count', async () => {
  service.engines.script({ method: 'POST', path: '/v1/videos', times: 5, fault: status(503) })
  const { ends, starts, job } = await outcome()
  assert.deepEqual([ends, starts, job.attempt?.number], ['completed', 1, 1])
})

test('a finished clip that a 502 hides is fetched again, past the time limit of the render: one start, one charge', async () => {
  for (const times of [3, 25]) {
    service.engines.script({ ...CONTENT, times, fault: status(502, { detail: 'bad gateway' }) })
    const { ends, paid, starts, fetches, seconds } = await outcome()
    assert.deepEqual([ends, paid, starts, fetches], ['completed', COST, 1, times + 1])
    if (times === 25) assert.ok(seconds > 600, `after ${seconds} s`)
  }
})

test('a finished clip is fetched for an hour and no longer', async () => {
  service.engines.script({ ...CONTENT, times: 999, fault: { kind: 'cut' } })
  const { ends, paid, starts, seconds } = await outcome()
  assert.deepEqual([ends, paid, starts], ['render_failed', 0n, 1])
  assert.ok(seconds >= 3600 && seconds < 3700, `${seconds} s`)
  assert.equal(logged('output_unusable').length, 1)
})

const REFUSED: Record<string, Fault> = {
  404: status(404),
  410: status(410),
  403: status(403),
  'no video': status(200, HTML),
}
test('a finished clip that is never handed over is asked for a few times, then the job fails with the reason in the log', async () => {
  for (const [name, fault] of Object.entries(REFUSED)) {
    lines.length = 0
    service.engines.script({ ...CONTENT, times: 999, fault })
    const { ends, paid, starts, fetches, seconds } = await outcome()
    assert.deepEqual([ends, paid, starts], ['render_failed', 0n, 1], name)
    assert.ok(fetches > 3 && fetches < 12 && seconds > 60 && seconds < 200, `${name}: ${fetches} in ${seconds} s`)
    const { detail, error } = logged('output_unusable')[0]!
    assert.ok(detail ?? error, name)
    service.engines.unscript()
  }
})

test('an engine that forgets the render after it has said that the clip is finished has lost a clip, not a render', async () => {
  service.engines.script({ ...CONTENT, fault: status(502) })
  const id = await service.submit()
  await service.drive(id, ({ attempt }) => attempt?.state === 'delivered')
  service.engines.forget()
  const { ends, starts } = await outcome(id)
  assert.deepEqual([ends, starts], ['render_failed', 0])
})
