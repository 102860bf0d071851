import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { toText } from '../../../server/platform/metrics/exposition.ts'
import { openMetrics } from '../../../server/platform/metrics/metrics.ts'
import { measureEndpoints } from '../../../server/webhooks/metrics.ts'
import { recordAttempts } from '../../../server/webhooks/store/endpoints.ts'
import { readExposition, sumOf } from '../../support/data/exposition.ts'
import { send } from '../../support/http/send.ts'
import {
  canceledVideo,
  deliverDue,
  deliveriesOf,
  freshEndpoint,
  newEndpoint,
  startWebhooksApp,
  type WebhooksApp,
} from '../../support/webhooks/app.ts'

let webhooks: WebhooksApp
let id: string
before(async () => {
  webhooks = await startWebhooksApp()
})
after(() => webhooks.close())
beforeEach(async () => {
  id = (await freshEndpoint(webhooks)).id
})
afterEach(async () => {
  assert.deepEqual(await webhooks.app.audit(), {})
  await call('DELETE')
})

const call = (method: string, body?: unknown) =>
  send(webhooks.app, method, `/v1/webhook_endpoints/${id}`, { key: webhooks.person.key }, body)
const moved = () => call('POST', { url: `${webhooks.receiver.url}/repaired` })

/** Sends an event that is answered with `status` once `change` is made. */
async function answeredAfter(status: number, change: () => Promise<unknown>): Promise<void> {
  const held = Promise.withResolvers<ServerResponse>()
  webhooks.receiver.answer((response) => held.resolve(response))
  await canceledVideo(webhooks)
  const delivering = deliverDue(webhooks.app)
  const response = await held.promise
  await change()
  webhooks.receiver.answer({ status: 200 })
  response.writeHead(status).end()
  await delivering
}

test('an answer of the former URL says nothing of the new one, and the event is sent there', async () => {
  const { app, receiver } = webhooks
  for (const status of [410, 500]) {
    await answeredAfter(status, moved)
    const { body } = await call('GET')
    assert.deepEqual([body.enabled, body.failing_since], [true, null], `${status}`)
    app.clock.advance(5)
    assert.equal(await deliverDue(app), 1)
    assert.equal(receiver.received.at(-1)!.path, '/repaired')
    assert.equal((await deliveriesOf(webhooks, id)).at(-1)!.state, 'delivered')
    await call('POST', { url: `${receiver.url}/hook` })
  }
})

test('a success at the former URL says nothing of the new one either', async () => {
  await answeredAfter(200, async () => {
    await moved()
    webhooks.receiver.answer({ status: 500 })
    await canceledVideo(webhooks)
    await deliverDue(webhooks.app)
  })
  assert.notEqual((await call('GET')).body.failing_since, null)
})

test('endpoints are reported by whether the last attempt to send to them worked', async () => {
  const reported = async () => {
    const metrics = openMetrics()
    measureEndpoints(metrics, webhooks.app.ctx.db)
    const read = readExposition(await toText([await metrics.read()]))
    return ['working', 'failing', 'disabled'].map((state) => sumOf(read, 'kinora_webhook_endpoints', { state }))
  }
  assert.deepEqual(await reported(), [1, 0, 0])
  webhooks.receiver.answer({ status: 500 })
  await canceledVideo(webhooks)
  await deliverDue(webhooks.app)
  assert.deepEqual(await reported(), [0, 1, 0])
  await call('POST', { enabled: false })
  assert.deepEqual(await reported(), [0, 0, 1])
})

test('another URL begins without the failures of the former one', async () => {
  const { app, receiver } = webhooks
  receiver.answer({ status: 500 })
  await canceledVideo(webhooks)
  await deliverDue(app)
  const { failing_since } = (await call('GET')).body
  assert.notEqual(failing_since, null)
  assert.equal((await call('POST', { name: 'Renamed' })).body.failing_since, failing_since)
  app.clock.advance(6 * 86_400)
  assert.equal((await moved()).body.failing_since, null)
  await canceledVideo(webhooks)
  await deliverDue(app)
  assert.equal((await call('GET')).body.enabled, true)
})

test('the endpoints of a group are locked in one order, whatever became of their attempts', async () => {
  const { app } = webhooks
  const other = await newEndpoint(webhooks)
  const { url } = (await call('GET')).body
  const failing = new Date(app.clock.now().getTime() - 60_000)
  await app.database.pool.query('update webhook_endpoints set failing_since = $1', [failing])
  const [first, second] = [id, other.id].sort()
  const group = {
    attempts: [
      { id: second!, url, outcome: 'succeeded' as const },
      { id: first!, url, outcome: 'failed' as const },
    ],
    now: app.clock.now(),
    failing_before: new Date(0),
  }
  const lock = (endpoint: string) =>
    app.database.pool.query('select id from webhook_endpoints where id = $1 for update skip locked', [endpoint])
  await app.database.db.transaction().execute(async (tx) => {
    await tx.selectFrom('webhook_endpoints').select('id').where('id', '=', first!).forUpdate().execute()
    const noting = app.ctx.db.transaction().execute((own) => recordAttempts(own, group))
    while (!(await someoneWaits())) await nextTurn()
    assert.equal((await lock(second!)).rows.length, 1, 'not locked before the first')
    void noting.catch(() => {})
  })
})

async function someoneWaits(): Promise<boolean> {
  const { rows } = await webhooks.app.database.pool.query(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  )
  return rows.length > 0
}
