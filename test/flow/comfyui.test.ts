import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { workflowOf } from '../engines/video/comfyui/workflows.ts'
import { send } from '../support/http/send.ts'
import { COST, type PipelineApp, startPipelineApp } from './pipeline-app.ts'

const workflows = JSON.stringify({ text: workflowOf() })
const COMFYUI = `{ kind: comfyui, base_url: "{engines}", start_timeout_seconds: 1, workflows: ${workflows} }`

let service: PipelineApp
before(async () => {
  service = await startPipelineApp({ model: COMFYUI })
})
after(() => service.close())
afterEach(async () => {
  service.engines.unscript()
  service.engines.release()
  service.engines.conduct({ polls: 0 })
  assert.deepEqual(await service.app.audit(), {})
  assert.equal((await service.balance()).held, 0n)
})

const SUBMIT = { method: 'POST', path: '/prompt' } as const

async function running(): Promise<string> {
  service.engines.conduct({ polls: 3 })
  const id = await service.submit()
  await service.drive(id, ({ attempt }) => attempt?.state === 'rendering')
  return id
}

test('a start without an answer, with a restart before the next one: one render, one charge', async () => {
  const before = { started: service.engines.started(), ...(await service.balance()) }
  service.engines.script({ ...SUBMIT, fault: { kind: 'stall' } })
  const id = await service.submit()
  await service.drive(id, ({ tries }) => tries === 1)
  service.engines.release()
  const other = await service.beside()
  try {
    for (let steps = 0; (await service.row(id)).status !== 'completed'; steps++) {
      assert.ok(steps < 20)
      service.app.clock.set((await service.row(id)).next_run_at)
      await other.tick()
    }
  } finally {
    await other.close()
  }
  const { balance, charges } = await service.balance()
  assert.equal(service.engines.started() - before.started, 1)
  assert.deepEqual([before.balance - balance, charges - before.charges], [COST, 1])
})

test('starts that are not answered are repeated until ComfyUI is back, and begin one render', async () => {
  const started = service.engines.started()
  service.engines.script({ ...SUBMIT, fault: { kind: 'lost_reply' } })
  service.engines.script({ path: /^\/(history|queue)/, times: 6, fault: { kind: 'status', status: 502 } })
  const id = await service.submit()
  assert.equal((await service.drive(id)).status, 'completed')
  assert.equal(service.engines.started() - started, 1)
})

test('a render that a restarted ComfyUI has lost is started once more; lost again, the job fails', async () => {
  const started = service.engines.started()
  const id = await running()
  service.engines.forget()
  assert.equal((await service.drive(id)).status, 'completed')
  assert.equal(service.engines.started() - started, 2)

  const again = await running()
  service.engines.forget()
  await service.drive(again, ({ attempt }) => attempt?.number === 2 && attempt.state === 'rendering')
  service.engines.forget()
  const job = await service.drive(again)
  assert.deepEqual([job.error_code, job.attempt?.number], ['render_failed', 2])
  assert.equal(service.engines.started() - started, 4)
})

test('200 when a client cancels a render that runs: ComfyUI interrupts that one', async () => {
  const id = await running()
  await service.drive(id, () => service.engines.requests.at(-1)?.path === '/queue')
  const { status, body } = await send(service.app, 'POST', `/v1/videos/${id}/cancel`, service.customer)
  assert.deepEqual([status, body.status], [200, 'canceled'])
  const { prompt_id } = (await service.row(id)).attempt!.ticket as { prompt_id: string }
  const sent = service.engines.requests.find(({ path }) => path === '/interrupt')!
  assert.deepEqual(sent.json, { prompt_id })
  assert.ok(service.engines.renders.get(prompt_id)!.canceled)
})

test('a render that somebody interrupts at ComfyUI is started again', async () => {
  const id = await running()
  const { attempt } = await service.row(id)
  service.engines.renders.get((attempt!.ticket as { prompt_id: string }).prompt_id)!.canceled = true
  assert.equal((await service.drive(id)).status, 'completed')
})
