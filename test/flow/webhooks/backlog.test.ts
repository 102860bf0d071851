import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { webhookSweeps } from '../../../server/webhooks/sweeps.ts'
import { send } from '../../support/http/send.ts'
import {
  canceledVideo,
  deliverDue,
  deliveriesOf,
  freshEndpoint,
  startWebhooksApp,
  type WebhooksApp,
} from '../../support/webhooks/app.ts'
import { countChanges, insertBacklog } from './backlog-rows.ts'

/** More than several statements may change. */
const BACKLOG = 5000
const STATEMENT_MAX = 2000

let webhooks: WebhooksApp
let id: string
let counted: () => Promise<number[]>
before(async () => {
  webhooks = await startWebhooksApp()
  counted = await countChanges(webhooks.app.database)
})
after(() => webhooks.close())
beforeEach(async () => {
  id = (await freshEndpoint(webhooks, BACKLOG)).id
})
afterEach(async () => {
  assert.deepEqual(await webhooks.app.audit(), {})
  await call('DELETE')
  await skip()
  await webhooks.app.database.pool.query(
    "truncate events cascade; truncate changes; delete from stored_bytes where kind = 'records'",
  )
})

const call = (method: string, end = '', body?: unknown) =>
  send(webhooks.app, method, `/v1/webhook_endpoints/${id}${end}`, { key: webhooks.person.key }, body)
const skip = () =>
  webhookSweeps(webhooks.app.ctx)
    .find(({ name }) => name === 'deliveries.skip')!
    .run()
const fill = (count = BACKLOG) => {
  const { app, person } = webhooks
  return insertBacklog(app.database, { org_id: person.org_id, endpoint_id: id, count, until: app.clock.now() })
}

async function states(): Promise<Record<string, number>> {
  const { rows } = await webhooks.app.database.pool.query(
    'select state, count(*)::int as n from event_deliveries where endpoint_id = $1 group by state',
    [id],
  )
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]))
}

async function assertBounded(): Promise<void> {
  const [most = 0] = await counted()
  assert.ok(most <= STATEMENT_MAX, `one statement changed ${most} deliveries`)
}

test('a large backlog is sent again by statements that each change a part of it, and all of it is counted', async () => {
  const ids = await fill()
  await call('POST', '', { enabled: false })
  await skip()
  await call('POST', '', { enabled: true })
  const since = Math.floor(webhooks.app.clock.now().getTime() / 1000) - BACKLOG + 101
  const { body } = await call('POST', '/redeliver', { since })
  assert.equal(body.deliveries, ids.length - 100)
  assert.deepEqual(await states(), { pending: ids.length - 100, skipped: 100 })
  await assertBounded()
})

test('an event that is recorded while a backlog is sent again is not sent twice', async () => {
  const { app, person } = webhooks
  await fill(10)
  const until = new Date(app.clock.now().getTime() + 60_000)
  const later = { org_id: person.org_id, endpoint_id: id, count: 5, until, state: 'delivered' as const }
  await insertBacklog(app.database, later)
  assert.equal((await call('POST', '/redeliver', { since: 0 })).body.deliveries, 10)
})

test('a 410 disables an endpoint at once, whoever is at work on its backlog, and what waits is skipped afterwards', async () => {
  const { app, receiver } = webhooks
  receiver.answer({ status: 410 })
  const [oldest] = await fill()
  await app.database.db.transaction().execute(async (tx) => {
    await tx.selectFrom('event_deliveries').select('id').where('event_id', '=', oldest!).forUpdate().execute()
    await deliverDue(app, {}, 1)
    const { body } = await call('GET')
    assert.deepEqual([body.enabled, body.disabled_reason], [false, 'gone'])
  })
  await skip()
  assert.deepEqual(await states(), { failed: 1, skipped: BACKLOG - 1 })
  await assertBounded()
})

test('what waits for an endpoint that is disabled or deleted is not sent, and is skipped by a sweep', async () => {
  for (const [method, body] of [
    ['POST', { enabled: false }],
    ['DELETE', undefined],
  ] as const) {
    await fill()
    await call(method, '', body)
    assert.ok((await states()).pending! > 0, 'some are left')
    assert.equal(await deliverDue(webhooks.app), 0)
    await skip()
    assert.equal((await states()).pending, undefined)
  }
  assert.equal(webhooks.receiver.received.length, 0)
  await assertBounded()
})

test('an endpoint that is enabled at once begins with an empty queue: what waited before it was disabled is skipped', async () => {
  await fill()
  await call('POST', '', { enabled: false })
  await call('POST', '', { enabled: true })
  assert.deepEqual(await states(), { skipped: BACKLOG })
  await canceledVideo(webhooks)
  assert.equal(await deliverDue(webhooks.app), 1)
  assert.equal((await deliveriesOf(webhooks, id)).length, 100)
  await assertBounded()
})

test('nothing that waits for an endpoint that is enabled is skipped', async () => {
  await fill(3)
  await skip()
  assert.deepEqual(await states(), { pending: 3 })
})
