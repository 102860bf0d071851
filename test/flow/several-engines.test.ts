import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { silentLog } from '../../server/platform/log.ts'
import { toText } from '../../server/platform/metrics/exposition.ts'
import { measureRenders } from '../../server/videos/render/metrics.ts'
import { readExposition, sumOf } from '../support/data/exposition.ts'
import { send } from '../support/http/send.ts'
import type { Fault } from '../support/upstream/engine-server/faults.ts'
import { type EngineServer, startEngineServer } from '../support/upstream/engine-server/server.ts'
import { type PipelineApp, startPipelineApp } from './pipeline-app.ts'

/** `own` is preferred by far, so that every other choice has a reason. */
const engineAt = (url: string, more = '') =>
  `{ kind: videos-api, dialect: openai, base_url: "${url}", model: wan, start_timeout_seconds: 1${more} }`
const several = (rented: string, own = '{engines}') =>
  `[{ name: own, weight: 1000, max_renders: 2, engine: ${engineAt(own, ', ratios: ["16:9", "9:16"]')} }, { name: rented, weight: 0.000001, engine: ${engineAt(rented)} }]`

let service: PipelineApp
let rented: EngineServer
before(async () => {
  rented = await startEngineServer()
  service = await startPipelineApp({ several: several(rented.url) })
  rented.setClock(() => service.app.clock.now().getTime())
})
after(async () => {
  await service.close()
  await rented.close()
})
afterEach(async () => {
  for (const server of [service.engines, rented]) {
    server.unscript()
    server.release()
    server.conduct({ polls: 0, status: null, error: null, omit: [] })
  }
  assert.deepEqual(await service.app.audit(), {})
})

const START = { method: 'POST', path: '/v1/videos' } as const

/** Runs a whole job: how it ended, and how many renders each engine began. */
async function outcome(body: Record<string, unknown> = {}, id = service.submit(body)) {
  const before = [service.engines.started(), rented.started()] as const
  const { charges } = await service.balance()
  const job = await service.drive(await id)
  const now = await service.balance()
  assert.equal(now.held, 0n)
  return {
    ends: job.error_code ?? job.status,
    own: service.engines.started() - before[0],
    rented: rented.started() - before[1],
    charges: now.charges - charges,
  }
}
const OWN = { ends: 'completed', own: 1, rented: 0, charges: 1 }
const RENTED = { ends: 'completed', own: 0, rented: 1, charges: 1 }

/** The engine is trusted again only after its pause, so each test has a service of its own health. */
async function withFreshHealth(body: () => Promise<void>): Promise<void> {
  const [before, beforeRented] = [service, rented]
  rented = await startEngineServer()
  service = await startPipelineApp({ several: several(rented.url) })
  rented.setClock(() => service.app.clock.now().getTime())
  try {
    await body()
    assert.deepEqual(await service.app.audit(), {})
  } finally {
    await service.close()
    await rented.close()
    service = before
    rented = beforeRented
  }
}

test('a render is started on the engine of the greatest weight that can take it', async () => {
  assert.deepEqual(await outcome(), OWN)
  assert.deepEqual(await outcome({ aspect_ratio: '1:1' }), RENTED)
})

const BEGUN_NOTHING: Record<string, Fault> = {
  'is busy': { kind: 'status', status: 503 },
  'limits the rate': { kind: 'status', status: 429, headers: { 'retry-after': '30' } },
  'refuses the credential': { kind: 'status', status: 401 },
}
for (const [name, fault] of Object.entries(BEGUN_NOTHING)) {
  test(`an engine that ${name} has begun nothing: the render is started on the next one, in the same moment`, () =>
    withFreshHealth(async () => {
      service.engines.script({ ...START, fault })
      const id = await service.submit()
      const before = service.app.clock.now().getTime()
      const job = await service.drive(id, ({ status }) => status === 'in_progress')
      assert.deepEqual(
        [job.attempt?.engine, job.attempt?.number, service.app.clock.now().getTime()],
        ['rented', 1, before],
      )
      assert.deepEqual((await service.drive(id)).status, 'completed')
    }))
}

test('an engine that refuses connections is unreachable in log and metrics, which show who renders in its place', async () => {
  const gone = await startEngineServer()
  await gone.close()
  const codes: unknown[] = []
  const log = {
    ...silentLog,
    warn: (event: string, { code }: { code?: unknown } = {}) => void codes.push([event, code]),
  }
  const own = await startPipelineApp({ several: several('{engines}', gone.url) }, { log })
  try {
    measureRenders(own.app.ctx)
    own.engines.conduct({ polls: 1000 })
    const ids = [await own.submit(), await own.submit(), await own.submit()]
    for (const id of ids) await own.drive(id, ({ status }) => status === 'in_progress')
    assert.deepEqual(codes, Array(3).fill(['start_failed', 'unreachable']))
    const read = readExposition(await toText([await own.app.ctx.metrics.read()]))
    const of = (metric: string, labels: Record<string, string>) => sumOf(read, `kinora_engine_${metric}`, labels)
    assert.equal(of('errors_total', { engine: 'own', call: 'start', kind: 'unreachable' }), 3)
    const both = (metric: string) => ['own', 'rented'].map((engine) => of(metric, { engine, model: 'outside-1' }))
    assert.deepEqual(
      [both('breaker_open'), both('renders'), both('renders_max')],
      [
        [1, 0],
        [0, 3],
        [2, 0],
      ],
    )
  } finally {
    await own.close()
  }
})

test('when every engine is busy the job stays queued with its files free, and is started later', () =>
  withFreshHealth(async () => {
    for (const server of [service.engines, rented]) server.script({ ...START, fault: { kind: 'status', status: 503 } })
    const id = await service.submit()
    const job = await service.drive(id, ({ tries }) => tries === 1)
    assert.deepEqual([job.status, job.attempt?.state, job.attempt?.number], ['queued', 'not_begun', 1])
    assert.equal((await service.drive(id)).status, 'completed')
  }))

test('only when every engine refuses for good does the job fail, and nothing is charged', () =>
  withFreshHealth(async () => {
    for (const server of [service.engines, rented]) server.script({ ...START, fault: { kind: 'status', status: 403 } })
    assert.deepEqual(await outcome(), { ends: 'render_failed', own: 0, rented: 0, charges: 0 })
  }))

test('a request that an engine refuses is not offered to the next one', async () => {
  service.engines.script({ ...START, fault: { kind: 'status', status: 400 } })
  assert.deepEqual(await outcome(), { ends: 'render_failed', own: 0, rented: 0, charges: 0 })
})

test('a start without an answer stays with its engine: it is looked for there, and never begun on another', () =>
  withFreshHealth(async () => {
    service.engines.conduct({ polls: 1 })
    service.engines.script({ ...START, fault: { kind: 'lost_reply' } })
    assert.deepEqual(await outcome({ prompt: 'A boat between two engines' }), OWN)
    service.engines.script({ ...START, fault: { kind: 'lost_reply' } })
    service.engines.conduct({ omit: ['prompt'] })
    assert.deepEqual(await outcome(), { ...OWN, own: 2 })
  }))

test('a render that fails or is lost after it began gets its new attempt from the same engine', async () => {
  const id = await service.submit()
  service.engines.conduct({ polls: 2 })
  await service.drive(id, ({ attempt }) => attempt?.state === 'rendering')
  service.engines.forget()
  service.engines.conduct({ polls: 0 })
  const { own, rented: others, ends, charges } = await outcome({}, Promise.resolve(id))
  assert.deepEqual([ends, own, others, charges], ['completed', 1, 0, 1])
})

test('an engine gets no more renders at a time than max_renders, whatever is submitted at once; a canceled one makes room', async () => {
  service.engines.conduct({ polls: 1_000_000 })
  rented.conduct({ polls: 1_000_000 })
  const before = [service.engines.started(), rented.started()] as const
  const ids = await Promise.all(Array.from({ length: 6 }, () => service.submit()))
  for (const id of ids) await service.drive(id, ({ status }) => status === 'in_progress')
  assert.deepEqual([service.engines.started() - before[0], rented.started() - before[1]], [2, 4])
  const rows = await Promise.all(ids.map((id) => service.row(id)))
  assert.equal(rows.filter(({ attempt }) => attempt?.engine === 'own').length, 2)
  const own = rows.find(({ attempt }) => attempt?.engine === 'own')!
  const cancel = (id: string) => send(service.app, 'POST', `/v1/videos/${id}/cancel`, service.customer)
  await cancel(own.id)
  const next = await service.submit()
  assert.equal((await service.drive(next, ({ status }) => status === 'in_progress')).attempt?.engine, 'own')
  for (const id of [...ids, next]) await cancel(id)
})
