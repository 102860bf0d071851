import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { send } from '../support/http/send.ts'
import { type PipelineApp, startPipelineApp } from './pipeline-app.ts'

const DIALECTS = {
  minimax: { model: 'MiniMax-H3', start: /\/v2\/video_generation$/ },
  ark: { model: 'dreamina-seedance-2-0-260128', start: /\/contents\/generations\/tasks$/ },
} as const
type Dialect = keyof typeof DIALECTS
const NAMES = Object.keys(DIALECTS) as Dialect[]

const services = new Map<Dialect, PipelineApp>()
before(async () => {
  for (const dialect of NAMES) {
    const { model } = DIALECTS[dialect]
    const entry = `{ kind: content-tasks, dialect: ${dialect}, base_url: "{engines}", model: ${model}, start_timeout_seconds: 1 }`
    services.set(dialect, await startPipelineApp({ model: entry }))
  }
})
after(() => Promise.all([...services.values()].map((service) => service.close())))
afterEach(async () => {
  for (const service of services.values()) {
    service.engines.unscript()
    service.engines.release()
    service.engines.conduct({ polls: 0, status: null, error: null, omit: [] })
    assert.deepEqual(await service.app.audit(), {})
    assert.equal((await service.balance()).held, 0n)
  }
})

const cancel = (on: PipelineApp, id: string) => send(on.app, 'POST', `/v1/videos/${id}/cancel`, on.customer)

/** What happens at the engine and in the ledger while `body` runs. */
async function counted(service: PipelineApp, body: () => Promise<void>) {
  const before = { started: service.engines.started(), charges: (await service.balance()).charges }
  await body()
  return {
    started: service.engines.started() - before.started,
    charges: (await service.balance()).charges - before.charges,
  }
}

for (const dialect of NAMES) {
  const START = { method: 'POST', path: DIALECTS[dialect].start }

  for (const kind of ['lost_reply', 'cut'] as const)
    test(`${dialect}, ${kind}: a start of unknown outcome is found in the list, and no second render begins`, async () => {
      const service = services.get(dialect)!
      service.engines.conduct({ polls: 1 })
      service.engines.script({ ...START, fault: { kind } })
      const counts = await counted(service, async () => {
        assert.equal((await service.drive(await service.submit())).status, 'completed')
      })
      assert.deepEqual(counts, { started: 1, charges: 1 })
    })

  test(`${dialect}: a start that never arrived is made again, and the render of another job is not taken for it`, async () => {
    const service = services.get(dialect)!
    service.engines.conduct({ polls: 3 })
    const other = await service.beside()
    const counts = await counted(service, async () => {
      service.engines.script({ ...START, fault: { kind: 'reset' } })
      const first = await service.submit({ prompt: 'A boat of one customer' })
      await service.drive(first, ({ attempt }) => attempt?.state === 'unknown')
      const second = await service.submit({ prompt: 'A boat of another' })
      await other.tick()
      const [mine, theirs] = [await service.drive(first), await service.drive(second)]
      assert.deepEqual([mine.status, theirs.status], ['completed', 'completed'])
      for (const { attempt, prompt } of [mine, theirs]) {
        const { content } = service.engines.renders.get((attempt!.ticket as { id: string }).id)!.json as {
          content: Array<{ text: string }>
        }
        assert.equal(content[0]!.text, prompt)
      }
    })
    await other.close()
    assert.deepEqual(counts, { started: 2, charges: 2 })
  })

  test(`${dialect}: a lost render leads to one new attempt and one charge, a second loss to a failed job`, async () => {
    const service = services.get(dialect)!
    service.engines.conduct({ polls: 2 })
    const once = await counted(service, async () => {
      const id = await service.submit()
      await service.drive(id, ({ attempt }) => attempt?.state === 'rendering')
      service.engines.forget()
      assert.equal((await service.drive(id)).status, 'completed')
    })
    assert.deepEqual(once, { started: 2, charges: 1 })
    const twice = await counted(service, async () => {
      const id = await service.submit()
      const job = await service.drive(id, ({ attempt }) => {
        if (attempt?.state === 'rendering') service.engines.forget()
        return false
      })
      assert.equal(job.error_code, 'render_failed')
    })
    assert.deepEqual(twice, { started: 2, charges: 0 })
  })

  test(`${dialect}: a queued render is canceled at the engine, a running one answers 409 and is charged when it completes`, async () => {
    const service = services.get(dialect)!
    service.engines.conduct({ polls: 3 })
    const counts = await counted(service, async () => {
      const queued = await service.submit()
      const { attempt } = await service.drive(queued, (job) => job.attempt?.state === 'rendering')
      const { id } = attempt!.ticket as { id: string }
      service.engines.renders.get(id)!.polled = 0
      assert.deepEqual((await cancel(service, queued)).body.status, 'canceled')
      assert.equal(service.engines.renders.get(id)!.canceled, true)

      const running = await service.submit()
      const job = await service.drive(running, (each) => each.attempt?.state === 'rendering')
      const render = service.engines.renders.get((job.attempt!.ticket as { id: string }).id)!
      render.polled = 1
      const { status, body } = await cancel(service, running)
      assert.deepEqual([status, body.error?.code, render.canceled], [409, 'conflict', false])
      assert.equal((await service.drive(running)).status, 'completed')
    })
    assert.deepEqual(counts, { started: 2, charges: 1 })
  })
}
