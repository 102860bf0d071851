import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI from 'openai'
import { canceledVideo, deliverDue, startWebhooksApp, unwrap, type WebhooksApp } from '../support/webhooks/app.ts'

let webhooks: WebhooksApp
let client: OpenAI
before(async () => {
  webhooks = await startWebhooksApp()
  const { app, person } = webhooks
  client = new OpenAI({ apiKey: person.key, baseURL: `${app.url}/v1`, maxRetries: 0 })
})
after(() => webhooks.close())

test('openai: an endpoint is created, listed, changed, tested, rotated and deleted, and every delivery is unwrapped', async () => {
  const { receiver, app } = webhooks
  // Of the SDK's own list of types: it does not know `video.canceled`.
  const event_types = ['video.completed', 'video.failed'] as Array<'video.completed' | 'video.failed'>
  const made = await client.webhooks.create({ name: 'SDK', url: receiver.url, event_types })
  assert.deepEqual(made.event_types, event_types)
  const every = (await client.webhooks.eventTypes.list()).data
  assert.ok(every.includes('video.canceled'))
  const changed = await client.webhooks.update(made.id, { event_types: every as typeof event_types })
  assert.equal(changed.signing_secret_hint, `whsec_...${made.signing_secret.slice(-4)}`)
  assert.equal((await client.webhooks.retrieve(made.id)).name, 'SDK')
  const listed: string[] = []
  for await (const { id } of client.webhooks.list({ limit: 1 })) listed.push(id)
  assert.deepEqual(listed, [made.id])

  const tried = await client.webhooks.test(made.id, { event_type: 'video.completed' })
  assert.deepEqual([tried.success, tried.status_code], [true, 200])
  const rotated = await client.webhooks.rotateSecret(made.id, { keep_old_secret_active_for_24_hours: true })
  await canceledVideo(webhooks)
  await deliverDue(app)
  const [sample, delivery] = receiver.received
  const event = await client.webhooks.unwrap(sample!.body, sample!.headers, made.signing_secret)
  assert.equal(event.object, 'event')
  for (const secret of [made.signing_secret, rotated.signing_secret]) {
    const { data } = (await unwrap(delivery!, secret)) as { data: { id: string } }
    assert.match(data.id, /^video_/)
  }
  const replayed = new OpenAI({ apiKey: 'unused', webhookSecret: made.signing_secret })
  const old = new Headers(delivery!.headers)
  old.set('webhook-timestamp', String(Number(old.get('webhook-timestamp')) - 301))
  await assert.rejects(replayed.webhooks.unwrap(delivery!.body, old))
  assert.deepEqual(await client.webhooks.delete(made.id), {
    id: made.id,
    object: 'webhook_endpoint.deleted',
    deleted: true,
  })
})
