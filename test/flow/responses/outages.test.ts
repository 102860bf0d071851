import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { openMeter } from '../../../server/billing/meter.ts'
import { openStorageGate } from '../../../server/billing/storage/gate.ts'
import { armFailpoint } from '../../../server/platform/failpoint.ts'
import { responseQueue } from '../../../server/responses/background/claims.ts'
import { startResponseConsumer } from '../../../server/responses/background/response-consumer.ts'
import { openContextLengths } from '../../../server/responses/context/lengths.ts'
import { type BackgroundApp, SHARE, startBackgroundApp } from '../../support/http/background-app.ts'
import { chargesOf } from '../../support/http/metered-chat-app.ts'
import { textFrames } from '../../support/upstream/chat-upstream.ts'
import { postgresProxy } from '../../support/upstream/postgres-proxy.ts'
import { backgroundRows } from './background-rows.ts'

let service: BackgroundApp
before(async () => {
  service = await startBackgroundApp({ worker: false })
})
after(() => service.close())
afterEach(async () => {
  armFailpoint(undefined)
  service.upstream.always(null)
  service.app.clock.set(new Date())
  await query('delete from responses where finished_at is null')
  assert.deepEqual(await service.app.audit(), {})
})

const { query, row, submitted, read } = backgroundRows(() => service)

test('a response whose engine ends before it says anything runs again, at most three times', async () => {
  const charges = (await chargesOf(service.app, service.person)).length
  service.upstream.reply({ kind: 'reset' }, { kind: 'reset' })
  const id = await submitted()
  await service.tick()
  await service.tick()
  assert.deepEqual([(await row(id)).status, (await row(id)).attempts], ['in_progress', 2])
  await service.tick()
  assert.equal((await read(id)).status, 'completed')
  assert.equal((await chargesOf(service.app, service.person)).length, charges + 1)
  service.upstream.always({ kind: 'reset' })
  const poison = await submitted()
  for (let runs = 0; runs < 3; runs++) await service.tick()
  const { status, error } = await read(poison)
  assert.deepEqual([status, error.code], ['failed', 'upstream_error'])
  assert.equal((await chargesOf(service.app, service.person)).length, charges + 1)
})

test('a response of which something has come fails when its engine breaks off, and is charged for it', async () => {
  const charges = (await chargesOf(service.app, service.person)).length
  service.upstream.always({
    kind: 'stream',
    frames: textFrames(['Half', ' of']).slice(0, 3),
    done: false,
    finally: 'reset',
  })
  const id = await submitted()
  await service.tick()
  const { status, error, output } = await read(id)
  assert.deepEqual([status, error.code, output.length], ['failed', 'upstream_error', 1])
  assert.equal((await chargesOf(service.app, service.person)).length, charges + 1)
})

/** A test that waits for a row without end fails. */
const ONE_MINUTE = { timeout: 60_000 }

/** A worker as that of a process, on the clock that is moved by hand. */
async function withWorker(work: () => Promise<void>, ctx = service.app.ctx): Promise<void> {
  const meter = openMeter(ctx.db)
  const deps = { meter, storage: openStorageGate(ctx.db), lengths: openContextLengths() }
  const worker = startResponseConsumer(ctx, deps, { sole: false, share: SHARE, stop_seconds: 0 })
  try {
    await work()
  } finally {
    await worker.stop()
    await meter.close()
  }
}

/** Resolves once more than `waits` waits of responses of `gone` are written, and none of them runs. */
async function waitsBeyond(waits: number): Promise<number> {
  for (;;) {
    const [{ sum, running }] = await query(
      "select sum(waits)::int as sum, count(claim_id)::int as running from responses where model = 'gone'",
    )
    if (sum > waits && running === 0) return sum
    await new Promise(setImmediate)
  }
}

test(
  'responses whose engine cannot be reached take no slot: while it is away, others of the same person run',
  ONE_MINUTE,
  async () => {
    for (let n = 0; n < 3 * SHARE; n++) await submitted({ model: 'gone' })
    await withWorker(async () => {
      const waits = await waitsBeyond(0)
      await query("update responses set next_run_at = $1 where model = 'gone'", [service.app.clock.now()])
      assert.equal((await service.ended(await submitted())).status, 'completed')
      assert.equal(await waitsBeyond(0), waits)
      service.app.clock.advance(2)
      await waitsBeyond(waits)
    })
  },
)

test('outages of the database count no attempt', ONE_MINUTE, async () => {
  const id = await submitted()
  await withWorker(async () => {
    for (let outages = 0; outages < 5; outages++) {
      const met = Promise.withResolvers<void>()
      armFailpoint('response_begun', () => {
        met.resolve()
        throw Object.assign(new Error('terminating connection'), { code: '57P01' })
      })
      await met.promise
      while ((await row(id)).claim_id !== null) await new Promise(setImmediate)
      service.app.clock.advance(1)
    }
    assert.equal((await service.ended(id)).status, 'completed')
  })
  assert.equal((await row(id)).attempts, 1)
})

test('a claim that ends during an outage of the database counts no attempt', ONE_MINUTE, async (t) => {
  const proxy = await postgresProxy(service.app.database.url)
  t.after(proxy.close)
  const app = { ...service.app, database: { ...service.app.database, url: proxy.url } }
  const far = await startBackgroundApp({ worker: false, beside: { ...service, app } })
  t.after(far.close)
  const asked = service.upstream.requests.length
  const noticed = Promise.withResolvers<void>()
  const warn = (event: string) => void (event === 'queue_failed' && noticed.resolve())
  const ctx = { ...far.app.ctx, log: { ...far.app.ctx.log, warn } }
  service.upstream.reply({ kind: 'stream', frames: textFrames(['One', ' two']), hold_after: 2 }, { kind: 'stall' })
  const id = await submitted()
  await withWorker(async () => {
    const recorded = "select from response_event_batches where response_id = $1 and events like '%output_text.delta%'"
    while ((await query(recorded, [id])).length === 0) await new Promise(setImmediate)
    proxy.cut()
    await noticed.promise

    // As another node does when the lease has ended.
    await responseQueue.claims.releaseAllBut(service.app.ctx.db, [])
    proxy.restore()
    service.upstream.release()

    const again = 'select from responses where id = $1 and claim_id is not null and attempts = 1'
    while ((await query(again, [id])).length === 0 || service.upstream.requests.length < asked + 2)
      await new Promise(setImmediate)
    service.upstream.release()
    assert.equal((await service.ended(id)).status, 'completed')
  }, ctx)
})
