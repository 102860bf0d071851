import assert from 'node:assert/strict'
import type { LookupFunction } from 'node:net'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { webhookSweeps } from '../../../server/webhooks/sweeps.ts'
import { send } from '../../support/http/send.ts'
import {
  canceledVideo,
  deliverDue,
  deliveriesOf,
  freshEndpoint,
  startWebhooksApp,
  unwrap,
  type WebhooksApp,
} from '../../support/webhooks/app.ts'

let webhooks: WebhooksApp
let endpoint: { id: string; secret: string }
before(async () => {
  webhooks = await startWebhooksApp()
})
after(() => webhooks.close())
beforeEach(async () => {
  endpoint = await freshEndpoint(webhooks)
})
afterEach(async () => {
  assert.deepEqual(await webhooks.app.audit(), {})
  await send(webhooks.app, 'DELETE', path(), { key: webhooks.person.key })
})

const path = (end = '') => `/v1/webhook_endpoints/${endpoint.id}${end}`
const call = (method: string, end = '', body?: unknown) =>
  send(webhooks.app, method, path(end), { key: webhooks.person.key }, body)
const onlyDelivery = async () => (await deliveriesOf(webhooks, endpoint.id)).at(-1)!

const SCHEDULE = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]

test('a delivery is the event in the form of the contract, signed so that the SDK unwraps it, and a changed byte is refused', async () => {
  const { receiver, app } = webhooks
  const video = await canceledVideo(webhooks)
  assert.equal(await deliverDue(app), 1)
  const [received] = receiver.received
  const created_at = Math.floor(app.clock.now().getTime() / 1000)
  assert.deepEqual(received!.event, {
    id: received!.headers.get('webhook-id'),
    object: 'event',
    created_at,
    type: 'video.canceled',
    data: { id: video },
  })
  assert.match(received!.event.id, /^evt_/)
  assert.equal(received!.headers.get('content-type'), 'application/json')
  assert.equal(received!.headers.get('webhook-timestamp'), String(created_at))
  assert.deepEqual(await unwrap(received!, endpoint.secret), received!.event)
  await assert.rejects(unwrap({ ...received!, body: received!.body.replace('canceled', 'failed') }, endpoint.secret))
  const { state, attempts, status_code, next_attempt_at } = await onlyDelivery()
  assert.deepEqual([state, attempts, status_code, next_attempt_at], ['delivered', 1, 200, null])
  assert.equal(await deliverDue(app), 0)
})

test('a delivery that fails is tried after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, then given up', async () => {
  const { receiver, app } = webhooks
  receiver.answer({ status: 500 })
  await canceledVideo(webhooks)
  for (const [tried, seconds] of SCHEDULE.entries()) {
    assert.equal(await deliverDue(app), 1)
    const { state, attempts, next_attempt_at, error } = await onlyDelivery()
    assert.deepEqual([state, attempts, error], ['pending', tried + 1, 'status'])
    assert.equal(next_attempt_at, Math.floor(app.clock.now().getTime() / 1000) + seconds)
    app.clock.advance(seconds - 1)
    assert.equal(await deliverDue(app), 0, `not a second before ${seconds}`)
    app.clock.advance(1)
  }
  assert.equal(await deliverDue(app), 1)
  const { state, attempts, status_code, next_attempt_at } = await onlyDelivery()
  assert.deepEqual([state, attempts, status_code, next_attempt_at], ['failed', 10, 500, null])
  app.clock.advance(10 * 86_400)
  assert.equal(await deliverDue(app), 0)
  assert.equal(new Set(receiver.received.map(({ event }) => event.id)).size, 1, 'the same id every time')
})

test('`retry-after` of a 429 or 503 delays the next attempt, up to a day, and never hastens it', async () => {
  const { receiver, app } = webhooks
  const due = async () => (await onlyDelivery()).next_attempt_at! - Math.floor(app.clock.now().getTime() / 1000)
  for (const [status, retry_after, seconds] of [
    [429, '120', 120],
    [503, { toString: () => new Date(app.clock.now().getTime() + 90_000).toUTCString() }, 90],
    [429, '1', 5],
    [503, '999999', 86_400],
    [500, '120', 5],
    [429, 'soon', 5],
  ] as const) {
    receiver.answer({
      status,
      headers: { date: app.clock.now().toUTCString(), 'retry-after': String(retry_after) },
    })
    await canceledVideo(webhooks)
    await deliverDue(app)
    assert.ok(Math.abs((await due()) - seconds) <= 1, `${status} ${seconds}: ${await due()}`)
  }
})

test('a 410 disables the endpoint at once, and nothing is sent to it until it is enabled', async () => {
  const { receiver, app } = webhooks
  receiver.answer({ status: 410 })
  await canceledVideo(webhooks)
  await canceledVideo(webhooks)
  await deliverDue(app)
  const { body } = await call('GET')
  assert.deepEqual([body.enabled, body.disabled_reason], [false, 'gone'])
  app.clock.advance(86_400)
  const sent = receiver.received.length
  await canceledVideo(webhooks)
  assert.equal(await deliverDue(app), 0)
  assert.equal(receiver.received.length, sent)
  assert.equal((await onlyDelivery()).state, 'skipped')
})

test('an endpoint that has failed for five days is disabled; one success in between restarts them', async () => {
  const { receiver, app } = webhooks
  const days = async (count: number, status: number) => {
    receiver.answer({ status })
    for (let day = 0; day < count; day++) {
      await canceledVideo(webhooks)
      await deliverDue(app)
      app.clock.advance(86_400)
    }
    return (await call('GET')).body
  }
  assert.equal((await days(5, 500)).enabled, true)
  assert.equal((await days(1, 200)).failing_since, null)
  const failing = await days(5, 500)
  assert.equal(failing.enabled, true)
  const disabled = await days(1, 500)
  assert.deepEqual(
    [disabled.enabled, disabled.disabled_reason, disabled.failing_since],
    [false, 'failing', failing.failing_since],
  )
  const enabled = await call('POST', '', { enabled: true })
  assert.deepEqual([enabled.body.enabled, enabled.body.disabled_reason, enabled.body.failing_since], [true, null, null])
})

test('events of an endpoint whose secret cannot be read wait without a try, however long, and arrive once it can', async () => {
  const { app, receiver } = webhooks
  const { pool } = app.database
  const { rows } = await pool.query('select secret from webhook_endpoints where id = $1', [endpoint.id])
  const setSecret = (secret: string) =>
    pool.query('update webhook_endpoints set secret = $2 where id = $1', [endpoint.id, secret])
  await canceledVideo(webhooks)
  await setSecret('v1.unreadable')
  for (let day = 0; day < 7; day++) {
    assert.equal(await deliverDue(app), 1)
    app.clock.advance(86_400)
  }
  const { state, attempts, error, last_attempt_at } = await onlyDelivery()
  assert.deepEqual([state, attempts, error, last_attempt_at], ['pending', 0, 'secret_unreadable', null])
  const { body } = await call('GET')
  assert.deepEqual([body.enabled, body.failing_since], [true, null])
  assert.equal(receiver.received.length, 0)
  await setSecret(rows[0].secret)
  assert.equal(await deliverDue(app), 1)
  assert.equal((await onlyDelivery()).state, 'delivered')
  await unwrap(receiver.received.at(-1)!, endpoint.secret)
})

test('the present secret signs alone while the previous one cannot be read', async () => {
  const { app, receiver } = webhooks
  const rotated = await call('POST', '/rotate_secret', { keep_old_secret_active_for_24_hours: true })
  await app.database.pool.query("update webhook_endpoints set previous_secret = 'v1.unreadable' where id = $1", [
    endpoint.id,
  ])
  await canceledVideo(webhooks)
  assert.equal(await deliverDue(app), 1)
  await unwrap(receiver.received.at(-1)!, rotated.body.signing_secret)
})

test('both secrets sign for 24 hours after a rotation that keeps the old one, and the new one alone after one that does not', async () => {
  const { receiver, app } = webhooks
  const rotated = await call('POST', '/rotate_secret', { keep_old_secret_active_for_24_hours: true })
  const [old, fresh] = [endpoint.secret, rotated.body.signing_secret as string]
  await canceledVideo(webhooks)
  await deliverDue(app)
  const both = receiver.received.at(-1)!
  assert.equal(both.headers.get('webhook-signature')!.split(' ').length, 2)
  await unwrap(both, old)
  await unwrap(both, fresh)
  app.clock.advance(86_400)
  await canceledVideo(webhooks)
  await deliverDue(app)
  const after = receiver.received.at(-1)!
  await unwrap(after, fresh)
  await assert.rejects(unwrap(after, old))
  const last = (await call('POST', '/rotate_secret', {})).body.signing_secret
  await canceledVideo(webhooks)
  await deliverDue(app)
  await unwrap(receiver.received.at(-1)!, last)
  await assert.rejects(unwrap(receiver.received.at(-1)!, fresh))
})

test('a redirect is a failure, and what it names is not asked', async () => {
  const { receiver, app } = webhooks
  receiver.answer({ status: 302, headers: { location: `${receiver.url}/elsewhere` } })
  await canceledVideo(webhooks)
  await deliverDue(app)
  assert.deepEqual(
    receiver.received.map(({ path }) => path),
    ['/hook'],
  )
  const { state, error, status_code } = await onlyDelivery()
  assert.deepEqual([state, error, status_code], ['pending', 'redirect', 302])
})

test('any 2xx is a success, whatever its body is', async () => {
  const { receiver, app } = webhooks
  for (const headers of [{ 'content-encoding': 'gzip' }, { 'content-length': '999999999999' }]) {
    receiver.answer((response) => {
      response.writeHead(202, headers)
      response.write('x')
    })
    await canceledVideo(webhooks)
    await deliverDue(app)
    assert.deepEqual([(await onlyDelivery()).state, (await onlyDelivery()).status_code], ['delivered', 202])
  }
})

test('a receiver that hangs up, and one that is not there, are tried again', async () => {
  const { receiver, app } = webhooks
  receiver.answer((response) => response.destroy())
  await canceledVideo(webhooks)
  await deliverDue(app)
  assert.deepEqual([(await onlyDelivery()).state, (await onlyDelivery()).error], ['pending', 'unreachable'])
  await call('POST', '', { url: 'http://127.0.0.1:1/' })
  app.clock.advance(5)
  await deliverDue(app)
  const { error, attempts, status_code } = await onlyDelivery()
  assert.deepEqual([error, attempts, status_code], ['unreachable', 2, null])
})

test('a name with a private address, also only the second time it is asked, and one with none are the same error, and nothing is sent', async () => {
  const { app } = webhooks
  await call('POST', '', { url: 'https://receiver.example/hook' })
  await canceledVideo(webhooks)
  let asked = 0
  const rebinding: LookupFunction = (_name, _options, callback) => {
    asked += 1
    callback(null, [{ address: asked % 2 === 1 ? '10.0.0.7' : '127.0.0.1', family: 4 }])
  }
  const missing = ['ENOTFOUND', 'ENODATA', 'ESERVFAIL', 'ETIMEOUT'].map((code): LookupFunction => {
    return (_name, _options, callback) => callback(Object.assign(new Error('no address'), { code }), [])
  })
  for (const lookup of [rebinding, rebinding, ...missing]) {
    await deliverDue(app, { lookup })
    const { error, status_code } = await onlyDelivery()
    assert.deepEqual([error, status_code], ['address_not_allowed', null])
    app.clock.advance(18_000)
  }
  assert.equal(asked, 2)
})

test('an event and its deliveries are gone after 30 days, and there until then', async () => {
  const { app } = webhooks
  const video = await canceledVideo(webhooks)
  await deliverDue(app)
  await send(app, 'DELETE', `/v1/videos/${video}`, { key: webhooks.person.key })
  const sweep = () =>
    webhookSweeps(app.ctx)
      .find(({ name }) => name === 'events.retention')!
      .run()
  app.clock.advance(30 * 86_400 - 1)
  await sweep()
  assert.equal((await deliveriesOf(webhooks, endpoint.id)).length, 1)
  app.clock.advance(2)
  await sweep()
  assert.deepEqual(await deliveriesOf(webhooks, endpoint.id), [])
})

test('what is sent again begins a new schedule: one event, those that did not arrive, or all since a time', async () => {
  const { receiver, app } = webhooks
  await canceledVideo(webhooks)
  await deliverDue(app)
  app.clock.advance(100)
  const since = Math.floor(app.clock.now().getTime() / 1000)
  receiver.answer({ status: 410 })
  await canceledVideo(webhooks)
  await deliverDue(app)
  receiver.answer({ status: 200 })
  await call('POST', '', { enabled: true })
  const [first, second] = await deliveriesOf(webhooks, endpoint.id)
  const again = async (body: unknown) => {
    receiver.received.length = 0
    const { body: answer } = await call('POST', '/redeliver', body)
    await deliverDue(app)
    return [answer.deliveries, receiver.received.map(({ event }) => event.id).sort()]
  }
  assert.deepEqual(await again({ since: 0, undelivered_only: true }), [1, [second!.id]])
  assert.deepEqual(await again({ since }), [1, [second!.id]])
  assert.deepEqual(await again({ since: 0 }), [2, [first!.id, second!.id].sort()])
  assert.deepEqual(await again({ event_id: first!.id }), [1, [first!.id]])
})
