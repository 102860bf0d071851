import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { allSweeps } from '../../../server/assembly/background.ts'
import { armFailpoint } from '../../../server/platform/failpoint.ts'
import { LEASE_SECONDS } from '../../../server/platform/queue/claims.ts'
import { responseQueue } from '../../../server/responses/background/claims.ts'
import type { ResponseObject } from '../../../server/responses/schema/response.ts'
import { newCustomer } from '../../support/http/app.ts'
import { type BackgroundApp, startBackgroundApp } from '../../support/http/background-app.ts'
import { chargesOf } from '../../support/http/metered-chat-app.ts'
import { textFrames } from '../../support/upstream/chat-upstream.ts'

let service: BackgroundApp
before(async () => {
  service = await startBackgroundApp({ worker: false })
})
after(() => service.close())
afterEach(async () => {
  armFailpoint(undefined)
  service.upstream.always(null)
  service.app.clock.set(new Date())
  assert.deepEqual(await service.app.audit(), {})
})

/** What a run that lost its process looks like from inside. */
class Crash extends Error {
  readonly code = '57P01'
}

const crashAt = (point: string) =>
  armFailpoint(point, () => {
    throw new Crash(point)
  })
/** Works, and loses the process on the way; what it held is free again. */
async function crash(): Promise<void> {
  await assert.rejects(service.tick(), Crash)
  await responseQueue.claims.releaseAllBut(service.app.ctx.db, [])
}
const query = async (text: string, values: unknown[] = []) => (await service.app.database.pool.query(text, values)).rows
const submitted = async (changes: Record<string, unknown> = {}): Promise<string> => {
  const { status, body } = await service.submit(changes)
  assert.equal(status, 200, JSON.stringify(body))
  return body.id
}
const read = async (id: string): Promise<ResponseObject> => (await service.call('GET', id)).body
const row = async (id: string) => (await query('select * from responses where id = $1', [id]))[0]
const sweep = async () => {
  for (const each of allSweeps(service.app.ctx, service.app.ctx.db)) await each.run()
}
const TERMINAL = /^response\.(completed|incomplete|failed)$/
const endsOf = (events: ReadonlyArray<{ type: string }>) => events.filter(({ type }) => TERMINAL.test(type)).length

test('after a crash at any step a response runs again with the same ids, and its events and its charge exist once', async () => {
  for (const point of ['response_begun', 'before_response_end', 'within_response_end', 'after_response_end']) {
    const before = (await chargesOf(service.app, service.person)).length
    const id = await submitted()
    service.upstream.always({
      kind: 'stream',
      frames: textFrames(['A first', ' and longer', ' answer', ' to be lost']),
    })
    crashAt(point)
    await crash()
    const lost = await query('select events from response_event_batches where response_id = $1 order by first_number', [
      id,
    ])
    service.upstream.always({ kind: 'stream', frames: textFrames(['Again']) })
    await service.tick()
    const response = await read(id)
    assert.equal(response.status, 'completed', point)
    const kept = point === 'after_response_end' ? 'A first and longer answer to be lost' : 'Again'
    assert.equal((response.output[0] as { content: Array<{ text: string }> }).content[0]!.text, kept)
    const events = await service.events(id)
    assert.equal(endsOf(events), 1)
    assert.deepEqual(events.at(-1)!.response, response)
    assert.deepEqual(
      events.map(({ sequence_number }) => sequence_number),
      events.map((_, index) => index),
    )
    const earlier = lost.flatMap(({ events }) => events.split('\n')).find((data) => data.includes('output_item.added'))
    if (earlier) assert.equal(JSON.parse(earlier).item.id, response.output[0]!.id)
    assert.equal((await chargesOf(service.app, service.person)).length, before + 1, point)
  }
})

test('a follower that had read more events of a lost run than the next run emits still gets the last event', async () => {
  const id = await submitted()
  service.upstream.always({ kind: 'stream', frames: textFrames(Array.from({ length: 40 }, (_, i) => ` ${i}`)) })
  crashAt('before_response_end')
  await crash()
  service.upstream.always(null)
  await service.tick()
  const events = await service.events(id)
  const last = events.at(-1)!
  assert.deepEqual(await service.events(id, last.sequence_number + 25), [last])
  assert.deepEqual(await service.events(id, last.sequence_number), [])
  assert.deepEqual(await service.events(id, last.sequence_number - 1), [last])
})

test('after three lost runs a response fails with `server_error` and is not charged', async () => {
  const id = await submitted()
  for (let run = 0; run < 3; run++) {
    crashAt('response_begun')
    await crash()
  }
  const asked = service.upstream.requests.length
  await service.tick()
  const response = await read(id)
  assert.deepEqual([response.status, response.error!.code, response.usage], ['failed', 'server_error', null])
  assert.equal(service.upstream.requests.length, asked, 'the model was not asked')
  const events = await service.events(id)
  assert.deepEqual(
    events.map(({ type }) => type),
    ['response.created', 'response.queued', 'error', 'response.failed'],
  )
})

test('a response that waited longer than its time limit fails; one second less does not', async () => {
  const limit = service.app.ctx.config.limits.queue_seconds
  const [early, late] = [await submitted(), await submitted()]
  const created = (await row(late)).created_at as Date
  await query('update responses set created_at = $2 where id = $1', [late, new Date(created.getTime() - 2000)])
  service.app.clock.set(new Date(created.getTime() + (limit - 1) * 1000))
  await service.tick()
  assert.equal((await read(early)).status, 'completed')
  const response = await read(late)
  assert.deepEqual([response.status, response.error!.code], ['failed', 'server_is_overloaded'])
})

test('a response fails with the matching code when the balance was used up or the plan changed while it waited', async () => {
  const poor = await newCustomer(service.app)
  const { body } = await service.submit({}, poor)
  await query(
    'insert into ledger_entries (id, org_id, kind, amount, note, created_at) select $1, org_id, $2, -balance, $3, now() from accounts where org_id = $4',
    ['le_used', 'grant', 'Used elsewhere', poor.org_id],
  )
  await query('update accounts set balance = 0 where org_id = $1', [poor.org_id])
  const other = await newCustomer(service.app)
  const second = (await service.submit({}, other)).body
  await query(`update organizations set plan = 'bare' where id = $1`, [other.org_id])
  const asked = service.upstream.requests.length
  await service.tick()
  const codes = []
  for (const [id, person] of [
    [body.id, poor],
    [second.id, other],
  ] as const) {
    const { status, error } = (await service.call('GET', id, person)).body
    codes.push([status, error.code])
  }
  assert.deepEqual(codes, [
    ['failed', 'insufficient_credits'],
    ['failed', 'model_not_found'],
  ])
  assert.equal(service.upstream.requests.length, asked)
})

test('a response fails with `previous_response_not_found` when the one it continues is deleted while it waits', async () => {
  const first = await submitted()
  await service.tick()
  const second = await submitted({ previous_response_id: first })
  await service.call('DELETE', first)
  await service.tick()
  const { status, error } = await read(second)
  assert.deepEqual(
    [status, error!.code, error!.param],
    ['failed', 'previous_response_not_found', 'previous_response_id'],
  )
})

test('a response canceled before a worker has claimed it ends at once, is not charged and never runs', async () => {
  const id = await submitted()
  const asked = service.upstream.requests.length
  const { status, body } = await service.call('POST', `${id}/cancel`)
  assert.deepEqual([status, body.status, body.output, body.usage.total_tokens], [200, 'cancelled', [], 0])
  await service.tick()
  assert.equal(service.upstream.requests.length, asked)
  const events = await service.events(id)
  assert.deepEqual(
    events.map(({ type }) => type),
    ['response.created', 'response.queued', 'response.incomplete'],
  )
  assert.deepEqual(events.at(-1)!.response, body)
})

test('a response canceled while its worker is dead ends with the items of its stored events', async () => {
  const charged = await chargesOf(service.app, service.person)
  const id = await submitted()
  service.upstream.always({ kind: 'stream', frames: textFrames(['Whole']) })
  crashAt('before_response_end')
  await assert.rejects(service.tick(), Crash)
  // Still claimed by the dead worker: the request is stored, and the next worker ends it.
  const canceling = service.call('POST', `${id}/cancel`)
  while ((await row(id)).cancel_requested_at === null) await new Promise(setImmediate)
  await responseQueue.claims.releaseAllBut(service.app.ctx.db, [])
  const { status, body } = await canceling
  assert.deepEqual([status, body.status], [200, 'cancelled'])
  assert.deepEqual(
    body.output.map((item: { content: Array<{ text: string }> }) => item.content[0]!.text),
    ['Whole'],
  )
  assert.equal(body.usage.total_tokens, 0, 'a run that was lost with its process costs nothing')
  assert.deepEqual(await chargesOf(service.app, service.person), charged)
  assert.equal(endsOf(await service.events(id)), 1)
})

test('the sweep releases claims of a dead worker once their lease has expired, and never those of a live one', async () => {
  const id = await submitted()
  crashAt('response_begun')
  await assert.rejects(service.tick(), Crash)
  await sweep()
  assert.notEqual((await row(id)).claim_id, null, 'its worker may be alive')
  await query(`update responses set claimed_until = claimed_until - make_interval(secs => $2) where id = $1`, [
    id,
    LEASE_SECONDS + 1,
  ])
  await sweep()
  assert.equal((await row(id)).claim_id, null)
  await service.tick()
  assert.equal((await read(id)).status, 'completed')
})

test('a response is readable until thirty days after its end, and deleted with its items within an hour after', async () => {
  const id = await submitted()
  await service.tick()
  const ended = (await row(id)).finished_at as Date
  const at = (seconds: number) => service.app.clock.set(new Date(ended.getTime() + (30 * 86_400 + seconds) * 1000))
  at(-1)
  await sweep()
  assert.equal((await read(id)).status, 'completed')
  at(3600)
  await sweep()
  assert.equal((await service.call('GET', id)).status, 404)
  for (const table of ['response_items', 'response_event_batches']) {
    assert.deepEqual(await query(`select 1 from ${table} where response_id = $1`, [id]), [])
  }
})

test('`store: false` stores nothing in the database', async () => {
  const counts = () =>
    query(
      'select (select count(*) from responses) as a, (select count(*) from response_items) as b, (select count(*) from response_event_batches) as c',
    )
  const before = await counts()
  for (const stream of [false, true]) {
    const answer = await fetch(`${service.app.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.person.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', input: 'Hello', store: false, stream }),
    })
    assert.equal(answer.status, 200)
    const id = /resp_[0-9a-f]{48}/.exec(await answer.text())![0]
    assert.equal((await service.call('GET', id)).status, 404)
    assert.equal((await service.submit({ previous_response_id: id })).status, 404)
  }
  assert.deepEqual(await counts(), before)
})

test('a terminal status is final in the database itself, and no other move is possible', async () => {
  const id = await submitted()
  await service.tick()
  for (const status of ['queued', 'in_progress', 'failed', 'cancelled', 'incomplete']) {
    await assert.rejects(
      query('update responses set status = $2 where id = $1', [id, status]),
      /may not go from completed/,
    )
  }
  await assert.rejects(query('update responses set finished_at = null where id = $1', [id]), /check constraint/)
})
