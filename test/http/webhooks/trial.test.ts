import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import { send } from '../../support/http/send.ts'
import { assertRefused } from '../../support/http/videos-app.ts'
import { newEndpoint, startWebhooksApp, unwrap, type WebhooksApp } from '../../support/webhooks/app.ts'

let webhooks: WebhooksApp
let endpoint: { id: string; secret: string }
before(async () => {
  webhooks = await startWebhooksApp()
  endpoint = await newEndpoint(webhooks)
})
after(() => webhooks.close())

const path = () => `/v1/webhook_endpoints/${endpoint.id}`
const trial = (event_type = 'balance.low') =>
  send(webhooks.app, 'POST', `${path()}/test`, { key: webhooks.person.key }, { event_type })

test('200 after a signed sample event was sent, of any type, also to an endpoint that is disabled; nothing is recorded', async () => {
  const { receiver, app, person } = webhooks
  await send(app, 'POST', path(), { key: person.key }, { enabled: false })
  for (const event_type of ['video.completed', 'response.failed', 'balance.low']) {
    const { status, body } = await trial(event_type)
    assert.equal(status, 200)
    assert.deepEqual(body, {
      object: 'webhook_endpoint.test',
      webhook_endpoint_id: endpoint.id,
      event_type,
      status_code: 200,
      success: true,
      error: null,
    })
    assert.equal(receiver.received.at(-1)!.event.type, event_type)
    await unwrap(receiver.received.at(-1)!, endpoint.secret)
  }
  const { rows } = await app.database.pool.query('select id from events')
  assert.deepEqual(rows, [])
  await send(app, 'POST', path(), { key: person.key }, { enabled: true })
})

test('200 with what went wrong when the receiver refuses or is not there', async () => {
  webhooks.receiver.answer({ status: 503 })
  const refused = (await trial()).body
  assert.deepEqual([refused.status_code, refused.success, refused.error], [503, false, 'status'])
  await send(webhooks.app, 'POST', path(), { key: webhooks.person.key }, { url: 'http://127.0.0.1:1/' })
  const missing = (await trial()).body
  assert.deepEqual([missing.status_code, missing.success, missing.error], [null, false, 'unreachable'])
  await send(webhooks.app, 'POST', path(), { key: webhooks.person.key }, { url: webhooks.receiver.url })
})

test('429 while three test events of the organization are under way, and not afterwards', async () => {
  const waiting: ServerResponse[] = []
  webhooks.receiver.received.length = 0
  webhooks.receiver.answer((response) => void waiting.push(response))
  const slow = [trial(), trial(), trial()]
  await webhooks.receiver.atLeast(3)
  assertRefused(await trial(), { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' })
  for (const response of waiting) response.writeHead(204).end()
  for (const each of slow) assert.equal((await each).body.success, true)
  webhooks.receiver.answer({ status: 204 })
  assert.equal((await trial()).body.status_code, 204)
})
