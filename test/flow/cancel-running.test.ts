import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { engineStops } from '../../server/videos/pipeline/cancel.ts'
import { send } from '../support/http/send.ts'
import type { Fault } from '../support/upstream/engine-server/faults.ts'
import { COST, type PipelineApp, startPipelineApp } from './pipeline-app.ts'

const SGLANG = '{ kind: videos-api, dialect: sglang, base_url: "{engines}", model: MiniMax-H3 }'

let service: PipelineApp
let unstoppable: PipelineApp
before(async () => {
  service = await startPipelineApp()
  unstoppable = await startPipelineApp({ model: SGLANG })
})
after(() => Promise.all([service.close(), unstoppable.close()]))
afterEach(async () => {
  for (const each of [service, unstoppable]) {
    each.engines.unscript()
    each.engines.release()
    each.engines.conduct({ polls: 0 })
    assert.deepEqual(await each.app.audit(), {})
    assert.equal((await each.balance()).held, 0n)
  }
})

const DELETE = { method: 'DELETE' } as const
const cancel = (on: PipelineApp, id: string) => send(on.app, 'POST', `/v1/videos/${id}/cancel`, on.customer)
const answer = (status: number): Fault => ({ kind: 'status', status, body: {} })

async function running(on: PipelineApp): Promise<string> {
  on.engines.conduct({ polls: 3 })
  const id = await on.submit()
  await on.drive(id, ({ status, progress }) => status === 'in_progress' && progress > 0)
  return id
}

/** The cancellation is refused, and the job goes on to its end. */
async function refused(on: PipelineApp, id: string): Promise<void> {
  const before = await on.balance()
  const { status, headers, body } = await cancel(on, id)
  assert.deepEqual([status, body.error?.code, headers.get('x-should-retry')], [409, 'conflict', 'false'])
  assert.match(body.error.message, /cannot stop this render/)
  assert.equal((await on.row(id)).status, 'in_progress')
  assert.equal((await on.drive(id)).status, 'completed')
  const { balance, charges } = await on.balance()
  assert.deepEqual([before.balance - balance, charges - before.charges], [COST, 1])
}

test('409 where the engine cannot stop a render that has begun: it goes on and is charged when it completes', async () => {
  await refused(unstoppable, await running(unstoppable))
})

test('409 when the engine says that this render goes on', async () => {
  for (const status of [400, 405, 409, 404]) {
    const id = await running(service)
    service.engines.script({ ...DELETE, fault: answer(status) })
    await refused(service, id)
  }
})

test('200 when the engine stops it, and when the engine no longer knows it', async () => {
  for (const forget of [false, true]) {
    const id = await running(service)
    if (forget) service.engines.forget()
    const { status, body } = await cancel(service, id)
    assert.deepEqual([status, body.status], [200, 'canceled'])
  }
})

test('200 when the engine is out of reach, and it is asked again afterwards', async () => {
  for (const fault of [{ kind: 'reset' }, answer(500), answer(429)] as Fault[]) {
    const id = await running(service)
    service.engines.script({ ...DELETE, times: 2, fault })
    const { status, body } = await cancel(service, id)
    assert.deepEqual([status, body.status], [200, 'canceled'])
    const { rows } = await service.app.database.pool.query(
      'select count(*)::int as count from video_jobs where id = $1 and cancel_due_at is not null',
      [id],
    )
    assert.equal(rows[0].count, 1)
    service.engines.unscript()
  }
})

test('an engine that does not answer in time counts as out of reach', async () => {
  const id = await running(service)
  service.engines.script({ ...DELETE, fault: { kind: 'stall' } })
  assert.equal(await engineStops(service.app.ctx, await service.row(id), { ask_seconds: 0.01 }), true)
  service.engines.release()
  await cancel(service, id)
})

/** Resolves when the engine is asked to stop the newest render; requests of tests before are other renders'. */
function askedToStop(): Promise<unknown> {
  const [render] = [...service.engines.renders.keys()].slice(-1)
  return service.engines.received('DELETE', new RegExp(`/${render}$`))
}

test('409 when the render completes while the engine is asked', async () => {
  const id = await running(service)
  service.engines.script({ ...DELETE, fault: { kind: 'stall' } })
  const asked = askedToStop()
  const canceling = cancel(service, id)
  await asked
  assert.equal((await service.drive(id)).status, 'completed')
  service.engines.release()
  const { status, body } = await canceling
  assert.deepEqual([status, body.error?.code], [409, 'conflict'])
})

test('a render restarted while the engine was asked about the previous one is asked about too', async () => {
  const id = await running(service)
  service.engines.script({ ...DELETE, fault: { kind: 'stall' } })
  const before = service.engines.requests.length
  const asked = askedToStop()
  const canceling = cancel(service, id)
  await asked
  const { attempt_id } = await service.row(id)
  service.engines.forget()
  await service.drive(id, (job) => job.attempt_id !== attempt_id && job.attempt?.state === 'rendering')
  service.engines.release()
  assert.equal((await canceling).body.status, 'canceled')
  const deleted = service.engines.requests.slice(before).filter(({ method }) => method === 'DELETE')
  const [last] = [...service.engines.renders.keys()].slice(-1)
  assert.equal(new Set(deleted.map(({ path }) => path)).size, 2)
  assert.equal(deleted.at(-1)?.path, `/v1/videos/${last}`)
})
