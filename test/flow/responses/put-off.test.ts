import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { enterChild, freeSlots, WAITING_OF_ONE_MAX } from '../../../server/media/children/concurrency-limit.ts'
import { BlobsAway } from '../../../server/platform/blobs/blobs.ts'
import { samplePdf } from '../../support/data/pdf.ts'
import { newCustomer } from '../../support/http/app.ts'
import { type BackgroundApp, startBackgroundApp } from '../../support/http/background-app.ts'
import { balanceOf, chargesOf } from '../../support/http/metered-chat-app.ts'
import { readEvents } from '../../support/http/response-requests.ts'
import type { UpstreamReply } from '../../support/upstream/chat-upstream.ts'
import { backgroundRows } from './background-rows.ts'

let service: BackgroundApp
before(async () => {
  service = await startBackgroundApp({ worker: false })
})
after(() => service.close())
afterEach(async () => {
  service.upstream.always(null)
  service.app.clock.set(new Date())
  await query('delete from responses where finished_at is null')
  assert.deepEqual(await service.app.audit(), {})
})

const { query, row, submitted, read } = backgroundRows(() => service)
const refusal = (status: number, headers: Record<string, string> = {}): UpstreamReply => ({
  kind: 'json',
  status,
  headers,
  body: { error: { message: 'Busy.' } },
})

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
