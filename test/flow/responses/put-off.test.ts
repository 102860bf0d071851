import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { openMeter } from '../../../server/billing/meter.ts'
import { openStorageGate } from '../../../server/billing/storage/gate.ts'
import { enterChild, freeSlots, WAITING_OF_ONE_MAX } from '../../../server/media/children/concurrency-limit.ts'
import { BlobsAway } from '../../../server/platform/blobs/blobs.ts'
import { armFailpoint } from '../../../server/platform/failpoint.ts'
import { responseQueue } from '../../../server/responses/background/claims.ts'
import { startResponseConsumer } from '../../../server/responses/background/response-consumer.ts'
import { openContextLengths } from '../../../server/responses/context/lengths.ts'
import { samplePdf } from '../../support/data/pdf.ts'
import { newCustomer } from '../../support/http/app.ts'
import { type BackgroundApp, SHARE, startBackgroundApp } from '../../support/http/background-app.ts'
import { balanceOf, chargesOf } from '../../support/http/metered-chat-app.ts'
import { readEvents } from '../../support/http/response-requests.ts'
import { textFrames, type UpstreamReply } from '../../support/upstream/chat-upstream.ts'
import { postgresProxy } from '../../support/upstream/postgres-proxy.ts'

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

const query = async (text: string, values: unknown[] = []) => (await service.app.database.pool.query(text, values)).rows
const row = async (id: string) => (await query('select * from responses where id = $1', [id]))[0]
const submitted = async (changes: Record<string, unknown> = {}, person = service.person): Promise<string> => {
  const { status, body } = await service.submit(changes, person)
  assert.equal(status, 200, JSON.stringify(body))
  return body.id
}
const read = async (id: string) => (await service.call('GET', id)).body
const refusal = (status: number, headers: Record<string, string> = {}): UpstreamReply => ({
  kind: 'json',
  status,
  headers,
  body: { error: { message: 'Busy.' } },
})

/** A test that waits for a row without end fails. */
const ONE_MINUTE = { timeout: 60_000 }

/** The seconds until a response is due that waits for its engine. */
async function dueIn(id: string): Promise<number> {
  const { status, claim_id, claimed_until, finished_at, attempts, next_run_at } = await row(id)
  assert.deepEqual([status, claim_id, claimed_until, finished_at, attempts], ['in_progress', null, null, null, 0])
  return (next_run_at.getTime() - service.app.clock.now().getTime()) / 1000
}

test('a response whose engine is busy or cannot be reached waits longer each time, counts no attempt, and completes when it can', async () => {
  for (const reply of [refusal(503), refusal(429), null]) {
    const before = await balanceOf(service.app, service.person)
    const charges = (await chargesOf(service.app, service.person)).length
    const id = await submitted(reply ? {} : { model: 'gone' })
    service.upstream.always(reply)
    for (const base of [1, 2, 4, 8, 16, 32, 60, 60]) {
      await service.tick()
      const seconds = await dueIn(id)
      assert.ok(seconds >= 0.75 * base && seconds <= base, `${seconds} s`)
    }
    assert.equal(await balanceOf(service.app, service.person), before)
    service.upstream.always(null)
    if (!reply)
      await query(
        `update responses set model = 'm', request = replace(request::text, 'gone', 'm')::json where id = $1`,
        [id],
      )
    await service.tick()
    assert.equal((await read(id)).status, 'completed')
    assert.equal((await chargesOf(service.app, service.person)).length, charges + 1)
  }
})

test('a response whose PDF finds no place among those of its organization waits, and completes when it does', async () => {
  const file_data = `data:application/pdf;base64,${samplePdf().toString('base64')}`
  const content = [{ type: 'input_file', filename: 'a.pdf', file_data }]
  const id = await submitted({ input: [{ role: 'user', content }] })
  const owner = service.person.org_id
  const gone = new AbortController()
  const running = await Promise.all(Array.from({ length: freeSlots() }, () => enterChild('document', { owner })))
  const waiting = Array.from({ length: WAITING_OF_ONE_MAX }, () =>
    enterChild('document', { owner, signal: gone.signal }),
  )
  await service.tick()
  const seconds = await dueIn(id)
  gone.abort(new Error('gone'))
  for (const each of await Promise.allSettled(waiting)) if (each.status === 'fulfilled') each.value()
  for (const leave of running) leave()
  assert.ok(seconds > 0, `${seconds} s`)
  await service.tick()
  assert.equal((await read(id)).status, 'completed')
})

test('an engine that says how long to wait is asked no sooner', async () => {
  service.upstream.always(refusal(429, { 'retry-after': '90' }))
  const id = await submitted()
  await service.tick()
  assert.equal(Math.round(await dueIn(id)), 90)
})

test('whoever follows a response that waits gets each event once, with `starting_after` too', async () => {
  service.upstream.always(refusal(503))
  const id = await submitted()
  await service.tick()
  const headers = { authorization: `Bearer ${service.person.key}` }
  const [whole, rest] = await Promise.all(
    ['', '&starting_after=2'].map((from) =>
      fetch(`${service.app.url}/v1/responses/${id}?stream=true${from}`, { headers }),
    ),
  )
  await service.tick()
  await service.tick()
  service.upstream.always(null)
  await service.tick()
  const events = readEvents(await whole!.text())
  assert.deepEqual(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, index) => index),
  )
  assert.deepEqual(
    events.slice(0, 4).map(({ type }) => type),
    ['response.created', 'response.queued', 'response.in_progress', 'response.output_item.added'],
  )
  assert.deepEqual(readEvents(await rest!.text()), events.slice(3))
})

test('a response that waits for its engine is canceled at once, and not charged', async () => {
  service.upstream.always(refusal(503))
  const person = await newCustomer(service.app)
  const id = await submitted({}, person)
  await service.tick()
  const { status, body } = await service.call('POST', `${id}/cancel`, person)
  assert.deepEqual([status, body.status, body.output, body.usage.total_tokens], [200, 'cancelled', [], 0])
  assert.deepEqual(await chargesOf(service.app, person), [])
})

test('a response waits for its engine until its time limit since creation, then fails without another call', async () => {
  service.upstream.always(refusal(503, { 'retry-after': '300' }))
  const id = await submitted()
  const { created_at } = await row(id)
  const limit = service.app.ctx.config.limits.response_queue_seconds
  service.app.clock.set(new Date(created_at.getTime() + (limit - 10) * 1000))
  await service.tick()
  assert.equal(Math.round(await dueIn(id)), 10)
  const asked = service.upstream.requests.length
  service.app.clock.advance(11)
  await service.tick()
  const { status, error } = await read(id)
  assert.deepEqual([status, error.code], ['failed', 'server_is_overloaded'])
  assert.equal(service.upstream.requests.length, asked)
  assert.deepEqual(
    (await service.events(id)).map(({ type }) => type),
    ['response.created', 'response.queued', 'response.in_progress', 'error', 'response.failed'],
  )
})

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

test('a response waits for a bucket that is away, and counts no attempt', async () => {
  const { blobs } = service.app.ctx
  const form = new FormData()
  form.set('purpose', 'user_data')
  form.set('file', new Blob(['What the question is about.'], { type: 'text/plain' }), 'a.txt')
  const headers = { authorization: `Bearer ${service.person.key}` }
  const uploaded = await fetch(`${service.app.url}/v1/files`, { method: 'POST', headers, body: form })
  const { id: file_id } = (await uploaded.json()) as { id: string }
  const id = await submitted({ input: [{ role: 'user', content: [{ type: 'input_file', file_id }] }] })
  const { open } = blobs
  blobs.open = async () => {
    throw new BlobsAway('GetObject: TimeoutError')
  }
  try {
    for (let n = 0; n < 5; n++) await service.tick()
    assert.ok((await dueIn(id)) > 5)
  } finally {
    blobs.open = open
  }
  await service.tick()
  assert.equal((await read(id)).status, 'completed')
})

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
