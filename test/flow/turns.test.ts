import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordEvents } from '../../server/events/store/events.ts'
import { turnOwner } from '../../server/platform/turns.ts'
import { startDeliveryWorker } from '../../server/webhooks/delivery-worker.ts'
import { SCRIPTED_CONFIG, scriptedEngines } from '../laws/scripted-app.ts'
import { newCustomer, startApp, videoBody } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { startWebhooksApp } from '../support/webhooks/app.ts'

test('a job takes the turns of its organization', async (t) => {
  const engines = scriptedEngines({ render: 'succeed', moderation: 'allow' })
  const { promise: owner, resolve } = Promise.withResolvers<string>()
  const { moderate } = engines.moderation
  engines.moderation.moderate = (...given) => {
    resolve(turnOwner())
    return moderate(...given)
  }
  const app = await startApp({ config: SCRIPTED_CONFIG(1), engines, background: true })
  t.after(app.close)
  const person = await newCustomer(app)
  const { status } = await send(app, 'POST', '/v1/videos', { key: person.key }, videoBody({ model: 'outside-1' }))
  assert.equal(status, 200)
  assert.equal(await owner, person.org_id)
})

test('the delivery of an event takes the turns of its organization', async (t) => {
  const { app, person, close } = await startWebhooksApp()
  const endpoint = { name: 'Test', url: 'https://receiver.example/hook', event_types: ['video.completed'] }
  assert.equal((await send(app, 'POST', '/v1/webhook_endpoints', { key: person.key }, endpoint)).status, 200)
  const event = { org_id: person.org_id, type: 'video.completed' as const, subject_id: 'video_1' }
  await app.ctx.db.transaction().execute((tx) => recordEvents(tx, [event], app.clock.now()))
  const { promise: owner, resolve } = Promise.withResolvers<string>()
  const worker = startDeliveryWorker(app.ctx, {
    sole: false,
    lookup(_name, _options, callback) {
      resolve(turnOwner())
      callback(null, [{ address: '10.0.0.7', family: 4 }])
    },
  })
  t.after(() => worker.stop().then(close))
  assert.equal(await owner, person.org_id)
})
