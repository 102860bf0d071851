import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { send } from '../../support/http/send.ts'
import {
  canceledVideo,
  deliverDue,
  deliveriesOf,
  freshEndpoint,
  startWebhooksApp,
  type WebhooksApp,
} from '../../support/webhooks/app.ts'

let webhooks: WebhooksApp
before(async () => {
  webhooks = await startWebhooksApp()
})
after(() => webhooks.close())

test('a delivery shows its last ten attempts: what was sent, with the signature masked, and the beginning of what was answered', async () => {
  const { receiver, app, person } = webhooks
  const endpoint = await freshEndpoint(webhooks)
  const call = (method: string, end: string, body?: unknown) =>
    send(app, method, `/v1/webhook_endpoints/${endpoint.id}${end}`, { key: person.key }, body)
  const long = `\0${'é'.repeat(2000)}`
  receiver.answer((response) => {
    const secrets = { 'set-cookie': 'session=secret', 'x-request-id': 'r-1' }
    response.writeHead(500, { 'content-type': 'text/plain', ...secrets }).end(long)
  })
  await canceledVideo(webhooks)
  await deliverDue(app)
  const { id } = (await deliveriesOf(webhooks, endpoint.id)).at(-1)!
  const first = (await call('GET', `/deliveries/${id}`)).body
  assert.equal(first.request_body, receiver.received[0]!.body)
  const [sent] = first.sent
  assert.deepEqual([sent.number, sent.status_code, sent.error], [1, 500, 'status'])
  assert.equal(sent.origin, new URL(receiver.url).origin)
  const { 'webhook-signature': signature, ...headers } = sent.request_headers
  assert.equal(signature, 'v1,…')
  for (const [name, value] of Object.entries(headers)) assert.equal(receiver.received[0]!.headers.get(name), value)
  assert.equal(sent.response_headers['x-request-id'], 'r-1')
  assert.equal(sent.response_headers['set-cookie'], undefined)
  assert.equal(sent.response_body, `\ufffd${'é'.repeat(511)}`)

  receiver.answer((response) => response.destroy())
  for (let n = 0; n < 11; n++) {
    await call('POST', '/redeliver', { event_id: id })
    assert.equal(await deliverDue(app), 1)
  }
  const { sent: later } = (await call('GET', `/deliveries/${id}`)).body
  assert.deepEqual(
    later.map(({ number }: { number: number }) => number),
    [12, 11, 10, 9, 8, 7, 6, 5, 4, 3],
  )
  assert.deepEqual([later[0].error, later[0].response_headers, later[0].response_body], ['unreachable', null, null])
  assert.equal((await call('GET', `/deliveries/evt_${'0'.repeat(26)}`)).status, 404)
  assert.equal((await call('GET', '/deliveries/nothing')).status, 404)
  assert.deepEqual(await app.audit(), {})
})
