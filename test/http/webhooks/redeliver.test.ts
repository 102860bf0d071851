import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { send } from '../../support/http/send.ts'
import { assertRefused } from '../../support/http/videos-app.ts'
import {
  canceledVideo,
  deliverDue,
  newEndpoint,
  startWebhooksApp,
  type WebhooksApp,
} from '../../support/webhooks/app.ts'

let webhooks: WebhooksApp
let path: string
before(async () => {
  webhooks = await startWebhooksApp()
  path = `/v1/webhook_endpoints/${(await newEndpoint(webhooks)).id}`
})
after(() => webhooks.close())
afterEach(async () => assert.deepEqual(await webhooks.app.audit(), {}))

const call = (method: string, end: string, body?: unknown) =>
  send(webhooks.app, method, path + end, { key: webhooks.person.key }, body)

test('400 for both or neither of event and time', async () => {
  for (const body of [{}, { since: 0, event_id: 'evt_1' }]) {
    assertRefused(await call('POST', '/redeliver', body), {
      status: 400,
      code: 'invalid_request_error',
      param: 'since',
    })
  }
})

test('404 for an event that there is not, or that was not for this endpoint', async () => {
  const other = await newEndpoint(webhooks, { event_types: ['video.canceled'], url: `${webhooks.receiver.url}/other` })
  await call('POST', '', { event_types: ['video.failed'] })
  await canceledVideo(webhooks)
  const { rows } = await webhooks.app.database.pool.query('select event_id from event_deliveries')
  for (const event_id of ['evt_1', `evt_${'0'.repeat(26)}`, rows[0].event_id]) {
    assertRefused(await call('POST', '/redeliver', { event_id }), { status: 404, code: 'not_found' })
  }
  assert.ok(other.id)
})

test('409 while the endpoint is disabled', async () => {
  await call('POST', '', { enabled: false })
  assertRefused(await call('POST', '/redeliver', { since: 0 }), { status: 409, code: 'conflict' })
  await call('POST', '', { enabled: true, event_types: ['video.canceled'] })
})

test('200 with pages of deliveries by state, the newest first, without gap or duplicate', async () => {
  for (let n = 0; n < 5; n++) await canceledVideo(webhooks)
  await deliverDue(webhooks.app)
  for (let n = 0; n < 2; n++) await canceledVideo(webhooks)
  const all = (await call('GET', '/deliveries')).body.data
  assert.equal(all.length, 7)
  const first = (await call('GET', '/deliveries?limit=3')).body
  const second = (await call('GET', `/deliveries?limit=4&after=${first.last_id}`)).body
  assert.deepEqual([...first.data, ...second.data], all)
  assert.deepEqual([first.has_more, second.has_more], [true, false])
  assert.equal((await call('GET', '/deliveries?state=pending')).body.data.length, 2)
  assert.equal((await call('GET', '/deliveries?state=delivered')).body.data.length, 5)
  assertRefused(await call('GET', '/deliveries?state=lost'), { status: 400, code: 'invalid_value', param: 'state' })
})

test('deliveries are sent again for one request of an organization at a time: the others hold no connection to the database', async () => {
  const ids = [
    path,
    ...(await Promise.all([1, 2, 3].map(async () => `/v1/webhook_endpoints/${(await newEndpoint(webhooks)).id}`))),
  ]
  const { pool } = webhooks.app.database
  const client = await pool.connect()
  const sending = async () => {
    const { rows } = await pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length
  }
  await client.query('begin; lock table event_deliveries in exclusive mode')
  try {
    const key = webhooks.person.key
    const asked = ids.map((each) => send(webhooks.app, 'POST', `${each}/redeliver`, { key }, { since: 0 }))
    while ((await sending()) < 1) await nextTurn()
    // Answered after all have arrived.
    assert.equal((await call('GET', '')).status, 200)
    assert.equal(await sending(), 1)
    await client.query('commit')
    for (const { status } of await Promise.all(asked)) assert.equal(status, 200)
  } finally {
    client.release(true)
  }
})
