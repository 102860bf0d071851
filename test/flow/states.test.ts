import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { send } from '../support/http/send.ts'
import { COST, type PipelineApp, startPipelineApp } from './pipeline-app.ts'

let service: PipelineApp
before(async () => {
  service = await startPipelineApp()
})
after(() => service.close())
afterEach(async () => assert.deepEqual(await service.app.audit(), {}))

test('a job goes through the documented states in order and is charged its quote once', async () => {
  service.engines.conduct({ polls: 2 })
  const { balance, charges } = await service.balance()
  const started = service.engines.started()
  const id = await service.submit({ seconds: 5 })
  assert.deepEqual(await service.balance(), { balance, held: 5_000_000n, running: 1, charges })
  const job = await service.drive(id)
  assert.deepEqual(await service.statuses(id), ['moderating', 'translating', 'queued', 'in_progress', 'completed'])
  const after = { balance: balance - 5_000_000n, held: 0n, running: 0, charges: charges + 1 }
  assert.deepEqual(await service.balance(), after)
  assert.equal(job.progress, 100)
  assert.equal(service.engines.started() - started, 1)
  const { body } = await send(service.app, 'GET', `/v1/videos/${id}`, service.customer)
  assert.equal(body.completed_at, Math.floor(job.completed_at!.getTime() / 1000))
  assert.equal(body.expires_at, body.completed_at + 30 * 86_400)
})

test('while a render runs its progress rises, stays below 100, and nothing is charged', async () => {
  service.engines.conduct({ polls: 3 })
  const before = await service.balance()
  const id = await service.submit()
  const seen: number[] = []
  await service.drive(id, (job) => {
    seen.push(job.progress)
    return job.status === 'in_progress' && job.progress >= 30
  })
  assert.deepEqual(seen, [10, 20, 30])
  assert.deepEqual(await service.balance(), { ...before, held: COST, running: 1 })
  assert.equal((await service.drive(id)).status, 'completed')
})

test('the engine receives the prompt as submitted, including dialogue, and never the organization or a price', async () => {
  service.engines.conduct({ polls: 0 })
  const prompt = 'A cat says <d>Où est-il?</d> under a sign "営業中"'
  await service.drive(await service.submit({ prompt }))
  const render = [...service.engines.renders.values()].at(-1)!
  assert.equal(render.fields.prompt, prompt)
  assert.deepEqual(Object.keys(render.fields).sort(), ['model', 'prompt', 'seconds', 'size'])
})

test('an output that meets the contract is published byte for byte as the engine delivered it', async () => {
  service.engines.conduct({ polls: 0 })
  const id = await service.submit()
  const job = await service.drive(id)
  const response = await fetch(`${service.app.url}/v1/videos/${id}/content`, {
    headers: { authorization: `Bearer ${service.customer.key}` },
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  assert.deepEqual(bytes, [...service.engines.renders.values()].at(-1)!.conduct.output)
  assert.equal(job.output_size_bytes, BigInt(bytes.length))
})
