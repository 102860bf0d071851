import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { type PipelineApp, startPipelineApp } from './pipeline-app.ts'

const ENGINE = (dialect: string, model: string) =>
  `{ kind: queue, dialect: ${dialect}, base_url: "{engines}/${dialect}", model: ${model}, start_timeout_seconds: 1,
     input: { prompt: "{{prompt}}", duration: "{{seconds}}", aspect_ratio: "{{aspect_ratio}}", seed: "{{seed}}" } }`
const START = { method: 'POST', path: /-to-video$|\/predictions$/ } as const
const POLL = { method: 'GET', path: /\/status$|\/predictions\/[^/]+$/ } as const

let fal: PipelineApp
let replicate: PipelineApp
before(async () => {
  fal = await startPipelineApp({ model: ENGINE('fal', 'minimax/h3/text-to-video') })
  replicate = await startPipelineApp({ model: ENGINE('replicate', 'minimax/h3') })
})
after(() => Promise.all([fal.close(), replicate.close()]))
afterEach(async () => {
  for (const service of [fal, replicate]) {
    service.engines.unscript()
    assert.deepEqual(await service.app.audit(), {})
    assert.equal((await service.balance()).held, 0n)
  }
})

async function endOf(service: PipelineApp) {
  const before = { started: service.engines.started(), ...(await service.balance()) }
  const job = await service.drive(await service.submit())
  const { charges } = await service.balance()
  return [job.status, job.error_code, service.engines.started() - before.started, charges - before.charges]
}

test('fal, which has no list: a start without an answer is repeated once, and charged once', async () => {
  fal.engines.script({ ...START, fault: { kind: 'lost_reply' } })
  assert.deepEqual(await endOf(fal), ['completed', null, 2, 1])
})

test('fal: never a third start', async () => {
  fal.engines.script({ ...START, times: 999, fault: { kind: 'lost_reply' } })
  assert.deepEqual(await endOf(fal), ['failed', 'render_failed', 2, 0])
})

test('replicate: a start without an answer is found in the list, and no second one is paid', async () => {
  for (const kind of ['lost_reply', 'cut', 'garbage'] as const) {
    replicate.engines.script({ ...START, fault: { kind } })
    assert.deepEqual(await endOf(replicate), ['completed', null, 1, 1], kind)
  }
})

test('a render that the catalog does not know for 30 s is started once more, and charged once', async () => {
  for (const service of [fal, replicate]) {
    service.engines.script({ ...POLL, times: 7, fault: { kind: 'status', status: 404 } })
    assert.deepEqual(await endOf(service), ['completed', null, 2, 1])
  }
})

const RESULT = { method: 'GET', path: /\/requests\/[^/]+$/, times: 9999 } as const

test('fal: a result that cannot be had for longer than a render may take is asked for again, and nothing is started again', async () => {
  const until = fal.app.clock.now().getTime() + 900_000
  const isAway = () => fal.app.clock.now().getTime() < until
  fal.engines.script({
    ...RESULT,
    fault: () => (isAway() ? { kind: 'status', status: 502, body: 'bad gateway' } : null),
  })
  assert.deepEqual(await endOf(fal), ['completed', null, 1, 1])
})

test('fal: a completed request without a result fails the job, and nothing is started again', async () => {
  fal.engines.script({ ...RESULT, fault: { kind: 'status', status: 404 } })
  assert.deepEqual(await endOf(fal), ['failed', 'render_failed', 1, 0])
})
