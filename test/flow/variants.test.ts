import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { allSweeps } from '../../server/assembly/background.ts'
import { pairInstallation } from '../../server/files/installation.ts'
import { armFailpoint } from '../../server/platform/failpoint.ts'
import { send } from '../support/http/send.ts'
import { COST, type PipelineApp, startPipelineApp } from './pipeline-app.ts'

const DAY = 86_400
const VARIANTS = ['thumbnail', 'spritesheet'] as const

let service: PipelineApp
before(async () => {
  service = await startPipelineApp()
  await pairInstallation(service.app.ctx)
})
after(() => service.close())
beforeEach(() => service.app.clock.set(new Date()))

async function read(id: string, variant: string, { app } = service): Promise<number> {
  const headers = { authorization: `Bearer ${service.customer.key}` }
  const answer = await fetch(`${app.url}/v1/videos/${id}/content?variant=${variant}`, { headers })
  await answer.arrayBuffer()
  return answer.status
}

async function completed(): Promise<string> {
  const id = await service.submit()
  await service.drive(id)
  return id
}

async function sweep(): Promise<void> {
  for (const each of allSweeps(service.app.ctx, service.app.ctx.db)) await each.run()
}

const keysOf = async (id: string) => {
  const { blob_key, thumbnail_key, spritesheet_key } = await service.row(id)
  return [blob_key, thumbnail_key, spritesheet_key].filter((key) => key !== null)
}

test('clip, thumbnail and spritesheet are there a second before thirty days after the end, and gone within the hour after', async () => {
  const before = await service.stored()
  const id = await completed()
  for (const variant of VARIANTS) assert.equal(await read(id, variant), 200)
  const { finished_at } = await service.row(id)
  service.app.clock.set(new Date(finished_at!.getTime() + (30 * DAY - 1) * 1000))
  await sweep()
  assert.equal(await service.stored(), before + 3, 'the sweep of orphans knows all three')
  for (const variant of VARIANTS) assert.equal(await read(id, variant), 200)
  service.app.clock.advance(3601)
  await sweep()
  assert.equal(await service.stored(), before)
  for (const variant of VARIANTS) assert.equal(await read(id, variant), 404)
})

test('a job that is deleted while its thumbnail is being made leaves nothing behind', async () => {
  const before = await service.stored()
  for (const point of ['thumbnail_published', 'spritesheet_published']) {
    const id = await completed()
    let deleted = Promise.resolve({ status: 0 })
    armFailpoint(point, () => {
      deleted = send(service.app, 'DELETE', `/v1/videos/${id}`, service.customer)
    })
    const status = await read(id, 'thumbnail')
    assert.equal((await deleted).status, 200)
    assert.ok(status === 404 || status === 200, String(status))
    assert.equal(await service.stored(), before, point)
  }
})

test('a fault between the two pictures leaves neither, and the next request makes both', async () => {
  const before = await service.stored()
  const id = await completed()
  armFailpoint('thumbnail_published', () => {
    throw new Error('a fault of ours')
  })
  assert.equal(await read(id, 'thumbnail'), 500)
  assert.equal((await keysOf(id)).length, 1)
  assert.equal(await service.stored(), before + 1)
  assert.equal(await read(id, 'thumbnail'), 200)
  assert.equal((await keysOf(id)).length, 3)
  assert.equal(await service.stored(), before + 3)
})

test('two processes that make them at the same time keep those of one', async () => {
  const before = await service.stored()
  const id = await completed()
  const other = await service.beside()
  const beside = { ...service, app: other }
  try {
    const answers = await Promise.all([read(id, 'thumbnail'), read(id, 'spritesheet', beside)])
    assert.deepEqual(answers, [200, 200])
    assert.equal(await service.stored(), before + 3)
  } finally {
    await other.close()
  }
})

test('a service that has time makes them before anybody asks, and the job costs what it cost', async () => {
  const live = await startPipelineApp({}, { background: true })
  try {
    const id = await live.submit()
    for (;;) {
      const { status, thumbnail_key, spritesheet_key } = await live.row(id)
      assert.notEqual(status, 'failed')
      if (thumbnail_key !== null && spritesheet_key !== null) break
      await pause(50)
    }
    assert.equal(await live.stored(), 3)
    const { balance, held, charges } = await live.balance()
    assert.deepEqual([10_000_000_000n - balance, held, charges], [COST, 0n, 1])
    assert.deepEqual(await live.app.audit(), {})
  } finally {
    await live.close()
  }
})
