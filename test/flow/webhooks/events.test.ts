import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { grantCredits } from '../../../server/billing/ledger.ts'
import { openMeter } from '../../../server/billing/meter.ts'
import { armFailpoint } from '../../../server/platform/failpoint.ts'
import { newRequestId } from '../../../server/platform/ids.ts'
import { newCustomer, videoBody } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import {
  canceledVideo,
  deliverDue,
  endedVideo,
  newEndpoint,
  startWebhooksApp,
  type WebhooksApp,
} from '../../support/webhooks/app.ts'

let webhooks: WebhooksApp
before(async () => {
  webhooks = await startWebhooksApp()
})
after(() => webhooks.close())
afterEach(async () => assert.deepEqual(await webhooks.app.audit(), {}))

async function eventsOf(org_id: string): Promise<Array<{ type: string; subject_id: string; state: string }>> {
  const { rows } = await webhooks.app.database.pool.query(
    `select e.type, e.subject_id, d.state from events e join event_deliveries d on d.event_id = e.id
     where e.org_id = $1 order by e.id`,
    [org_id],
  )
  return rows
}

/** A customer of their own with an endpoint. */
async function customer(endpoint: Record<string, unknown> = {}, balance?: bigint) {
  while ((await deliverDue(webhooks.app)) > 0);
  const person = await newCustomer(webhooks.app, balance === undefined ? {} : { balance })
  const own = { ...webhooks, person }
  const made = await newEndpoint(own, endpoint)
  // Past the grace that the audit gives to an endpoint that is just being created.
  webhooks.app.clock.advance(120)
  return { ...own, ...made }
}

test('each end of a video job is an event of its own type, and a job that goes on is none', async () => {
  const own = await customer()
  const completed = await endedVideo(own)
  const running = (await send(own.app, 'POST', '/v1/videos', { key: own.person.key }, videoBody())).body.id
  assert.deepEqual(await eventsOf(own.person.org_id), [
    { type: 'video.completed', subject_id: completed, state: 'pending' },
  ])
  await send(own.app, 'POST', `/v1/videos/${running}/cancel`, { key: own.person.key })
  const made = await send(
    own.app,
    'POST',
    '/v1/videos',
    { key: own.person.key },
    videoBody({ prompt: '静かな湖に浮かぶ紙の船' }),
  )
  await own.app.tick()
  assert.deepEqual((await eventsOf(own.person.org_id)).slice(1), [
    { type: 'video.canceled', subject_id: running, state: 'pending' },
    { type: 'video.failed', subject_id: made.body.id, state: 'pending' },
  ])
})

test('an event is in the transaction that ends the job: when that is rolled back there is none, and later there is one', async () => {
  const own = await customer()
  const { body } = await send(own.app, 'POST', '/v1/videos', { key: own.person.key }, videoBody())
  const cancel = () => send(own.app, 'POST', `/v1/videos/${body.id}/cancel`, { key: own.person.key })
  armFailpoint('within_canceled', () => {
    throw new Error('rolled back')
  })
  assert.equal((await cancel()).status, 500)
  assert.deepEqual(await eventsOf(own.person.org_id), [])
  assert.equal((await cancel()).status, 200)
  assert.deepEqual(await eventsOf(own.person.org_id), [
    { type: 'video.canceled', subject_id: body.id, state: 'pending' },
  ])
})

test('nothing is written for an organization, or a type, that nobody listens to', async () => {
  const own = await customer({ event_types: ['video.failed'] })
  await canceledVideo(own)
  const silent = { ...webhooks, person: await newCustomer(webhooks.app) }
  await canceledVideo(silent)
  assert.deepEqual(await eventsOf(own.person.org_id), [])
  assert.deepEqual(await eventsOf(silent.person.org_id), [])
})

test('each endpoint that listens has its own delivery of one event', async () => {
  const own = await customer()
  const other = await newEndpoint(own, { url: `${own.receiver.url}/other` })
  await canceledVideo(own)
  assert.equal((await eventsOf(own.person.org_id)).length, 2)
  const before = own.receiver.received.length
  await deliverDue(own.app)
  const [one, two] = own.receiver.received.slice(before)
  assert.deepEqual([one!.path, two!.path].sort(), ['/hook', '/other'])
  assert.equal(one!.event.id, two!.event.id)
  assert.ok(other.id)
})

test('a charge that takes the balance to the threshold, and one that takes it to nothing, are one event each, at every crossing', async () => {
  const own = await customer({ event_types: ['balance.low', 'balance.empty'], low_balance: '5' }, 600_000_000n)
  const { org_id, user_id, key_id } = own.person
  const meter = openMeter(own.app.ctx.db)
  const charge = async (amount: bigint) => {
    meter.expect()
    await meter.charge({
      request_id: newRequestId(),
      org_id,
      user_id,
      key_id,
      model: 'm',
      amount,
      now: own.app.clock.now(),
      input_tokens: 1,
      cached_input_tokens: 0,
      output_tokens: 1,
      reasoning_tokens: 0,
    })
    return (await eventsOf(org_id)).map(({ type }) => type)
  }
  assert.deepEqual(await charge(50_000_000n), [])
  assert.deepEqual(await charge(50_000_000n), ['balance.low'], 'at the threshold exactly')
  assert.deepEqual(await charge(100_000_000n), ['balance.low'], 'below it already')
  assert.deepEqual(await charge(400_000_000n), ['balance.low', 'balance.empty'])
  assert.deepEqual(await charge(1n), ['balance.low', 'balance.empty'], 'empty already')
  const grant = (amount: bigint) =>
    own.app.database.db
      .transaction()
      .execute((tx) => grantCredits(tx, { org_id, amount, note: 'Test', user_id: null, now: own.app.clock.now() }))
  await grant(1_000_000_001n)
  assert.equal((await eventsOf(org_id)).length, 2)
  await grant(-1_000_000_000n)
  assert.deepEqual(
    (await eventsOf(org_id))
      .slice(2)
      .map(({ type, subject_id }) => [type, subject_id])
      .sort(),
    [
      ['balance.empty', org_id],
      ['balance.low', org_id],
    ],
  )
  await meter.close()
})

test('the charge of a video crosses the threshold in the transaction that completes the job', async () => {
  const own = await customer({ event_types: ['balance.low', 'video.completed'], low_balance: '99.98' })
  await endedVideo(own)
  assert.deepEqual((await eventsOf(own.person.org_id)).map(({ type }) => type).sort(), [
    'balance.low',
    'video.completed',
  ])
})

test('events of the time in which an endpoint is disabled are sent when somebody asks for them', async () => {
  const own = await customer()
  const path = `/v1/webhook_endpoints/${own.id}`
  await send(own.app, 'POST', path, { key: own.person.key }, { enabled: false })
  const video = await canceledVideo(own)
  assert.deepEqual(await eventsOf(own.person.org_id), [{ type: 'video.canceled', subject_id: video, state: 'skipped' }])
  assert.equal(await deliverDue(own.app), 0)
  await send(own.app, 'POST', path, { key: own.person.key }, { enabled: true })
  assert.equal(await deliverDue(own.app), 0)
  const again = await send(own.app, 'POST', `${path}/redeliver`, { key: own.person.key }, { since: 0 })
  assert.equal(again.body.deliveries, 1)
  await deliverDue(own.app)
  assert.equal(own.receiver.received.at(-1)!.event.data.id, video)
})
