import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { openMeter } from '../../../server/billing/meter.ts'
import { openStorageGate } from '../../../server/billing/storage/gate.ts'
import type { Context } from '../../../server/context.ts'
import { ApiError } from '../../../server/platform/errors.ts'
import { armFailpoint } from '../../../server/platform/failpoint.ts'
import { ClaimLost } from '../../../server/responses/background/event-recorder.ts'
import { finishRun } from '../../../server/responses/background/finish-run.ts'
import { startResponseConsumer } from '../../../server/responses/background/response-consumer.ts'
import { CANCELLED, runClaimed, SLACK_SECONDS } from '../../../server/responses/background/run-claimed.ts'
import { openContextLengths } from '../../../server/responses/context/lengths.ts'
import { failResponse } from '../../../server/responses/events/event.ts'
import type { ResponseObject } from '../../../server/responses/schema/response.ts'
import { claimResponse } from '../../support/data/claims.ts'
import { type BackgroundApp, startBackgroundApp } from '../../support/http/background-app.ts'
import { chargesOf } from '../../support/http/metered-chat-app.ts'
import { textFrames } from '../../support/upstream/chat-upstream.ts'

let service: BackgroundApp
before(async () => {
  service = await startBackgroundApp({ worker: false })
})
after(() => service.close())
afterEach(async () => assert.deepEqual(await service.app.audit(), {}))

/** A worker like that of a separate process, stopped by the test. */
async function startWorker(stop_seconds: number) {
  const { ctx } = service.app
  const meter = openMeter(ctx.db)
  const responses = startResponseConsumer(
    ctx,
    { meter, storage: openStorageGate(ctx.db), lengths: openContextLengths() },
    { sole: false, share: 4, stop_seconds },
  )
  return {
    async stop() {
      await responses.stop()
      await meter.close()
    },
  }
}

/** A test that waits for room without end fails. */
const ONE_MINUTE = { timeout: 60_000 }

const HANGING = {
  kind: 'stream',
  frames: textFrames(['One', ' two']).slice(0, 3),
  done: false,
  finally: 'stall',
} as const
const row = async (id: string) =>
  (await service.app.database.pool.query('select * from responses where id = $1', [id])).rows[0]
const recorded = async (id: string, word: string) => {
  for (;;) {
    const { rows } = await service.app.database.pool.query(
      'select 1 from response_event_batches where response_id = $1 and events like $2',
      [id, `%${word}%`],
    )
    if (rows.length > 0) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

test('a run that ends in time completes while its worker stops', async () => {
  const worker = await startWorker(20)
  service.upstream.reply({ ...HANGING, frames: textFrames(['One', ' two']) })
  const { id } = (await service.submit()).body
  await recorded(id, ' two')
  const stopped = worker.stop()
  service.upstream.release()
  await stopped
  const { status, attempts } = await row(id)
  assert.deepEqual([status, attempts], ['completed', 1])
})

test('a run that does not end in time is released, counts no attempt, and is completed by the next worker', async () => {
  const before = (await chargesOf(service.app, service.person)).length
  const worker = await startWorker(0)
  service.upstream.reply(HANGING)
  const { id } = (await service.submit()).body
  await recorded(id, ' two')
  await worker.stop()
  const { status, attempts, claim_id, finished_at } = await row(id)
  assert.deepEqual([status, attempts, claim_id, finished_at], ['in_progress', 0, null, null])
  const next = await startWorker(20)
  const response = await service.ended(id)
  assert.deepEqual([response.status, response.output.length], ['completed', 1])
  await next.stop()
  assert.equal((await chargesOf(service.app, service.person)).length, before + 1)
})

test('a worker that has lost its claim writes nothing more', async () => {
  const worker = await startWorker(20)
  service.upstream.reply(HANGING)
  const { id } = (await service.submit()).body
  await recorded(id, ' two')
  await service.app.database.pool.query(
    "update responses set claimed_until = now() - interval '1 second' where id = $1",
    [id],
  )
  // Another takes it over and completes it; the first is still waiting for its model.
  await service.tick()
  const response = await service.ended(id)
  assert.equal(response.status, 'completed')
  const events = await service.events(id)
  service.upstream.release()
  await worker.stop()
  assert.deepEqual((await service.call('GET', id)).body, response)
  assert.deepEqual(await service.events(id), events)
})

test('a run whose response another run has by now adds no event and does not end it, though the other is still at work', async () => {
  const { ctx, database } = service.app
  const meter = openMeter(ctx.db)
  const deps = { meter, storage: openStorageGate(ctx.db), lengths: openContextLengths() }
  service.upstream.reply({ ...HANGING, frames: textFrames(['One', ' two']) })
  const { id } = (await service.submit()).body
  const first = (await claimResponse(ctx.db, id, 'first'))!
  const running = runClaimed(ctx, deps, first, new AbortController().signal)
  await recorded(id, ' two')
  await database.pool.query("update responses set claimed_until = now() - interval '1 second' where id = $1", [id])
  const second = (await claimResponse(ctx.db, id, 'second'))!
  const stored = async () => [
    await row(id),
    (await database.pool.query('select * from response_event_batches where response_id = $1 order by 2', [id])).rows,
  ]
  const before = await stored()
  service.upstream.release()
  await assert.rejects(running, ClaimLost)
  const response: ResponseObject = { ...first.body, output: [] }
  const last = failResponse(response, new ApiError('server_error', 'Too late.'), { sequence_number: 99 })
  await assert.rejects(finishRun(ctx, meter, { claimed: first, response, last, used: null }), ClaimLost)
  assert.deepEqual(await stored(), before)
  await runClaimed(ctx, deps, second, new AbortController().signal)
  assert.equal((await service.ended(id)).status, 'completed')
  await meter.close()
})

test('a run that takes too long fails with `upstream_timeout`, and is charged for what it produced', async () => {
  const { ctx } = service.app
  const before = (await chargesOf(service.app, service.person)).length
  service.upstream.reply(HANGING)
  const { id } = (await service.submit()).body
  const claimed = await claimResponse(ctx.db, id, 'short')
  const limits = { ...ctx.config.limits, upstream_total_seconds: 0.2 - SLACK_SECONDS }
  const meter = openMeter(ctx.db)
  const short: Context = { ...ctx, config: { ...ctx.config, limits } }
  await runClaimed(
    short,
    { meter, storage: openStorageGate(ctx.db), lengths: openContextLengths() },
    claimed!,
    new AbortController().signal,
  )
  const { status, error, output } = (await service.call('GET', id)).body
  assert.deepEqual([status, error.code, output.length], ['failed', 'upstream_timeout', 1])
  const types = (await service.events(id)).map(({ type }) => type)
  assert.deepEqual(types.slice(-3), ['response.output_item.done', 'error', 'response.failed'])
  assert.equal((await chargesOf(service.app, service.person)).length, before + 1)
  await meter.close()
})

test('a run that is canceled before or while it waits for room in memory ends as cancelled', ONE_MINUTE, async () => {
  const { ctx } = service.app
  const meter = openMeter(ctx.db)
  for (const when of [(cancel: () => void) => cancel(), setImmediate]) {
    const { id } = (await service.submit({ input: 'x'.repeat(100_000) })).body
    const claimed = await claimResponse(ctx.db, id, 'canceled')
    const others = ctx.budget.open(service.person.org_id)
    others.add(64_000_000)
    const canceling = new AbortController()
    armFailpoint('response_begun', () => void when(() => canceling.abort(CANCELLED)))
    const deps = { meter, storage: openStorageGate(ctx.db), lengths: openContextLengths() }
    await runClaimed(ctx, deps, claimed!, canceling.signal)
    assert.equal((await service.call('GET', id)).body.status, 'cancelled')
    others.end()
    assert.equal(ctx.budget.held(), 0)
  }
  await meter.close()
})
