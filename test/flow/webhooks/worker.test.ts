import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { after, afterEach, before, test } from 'node:test'
import { newId } from '../../../server/platform/ids.ts'
import { RECLAIMED_TOPIC } from '../../../server/platform/queue/consumer.ts'
import { DELIVERY_QUEUE } from '../../../server/webhooks/event.ts'
import { resealer, sealSecret } from '../../../server/webhooks/secrets.ts'
import { recordEvents } from '../../../server/webhooks/store/events.ts'
import { newCustomer, startApp } from '../../support/http/app.ts'
import {
  deliveriesOf,
  newEndpoint,
  startReceiver,
  startWebhooksApp,
  WEBHOOKS_CONFIG,
  type WebhooksApp,
} from '../../support/webhooks/app.ts'

let webhooks: WebhooksApp
before(async () => {
  webhooks = await startWebhooksApp({ background: true })
})
after(() => webhooks.close())
afterEach(async () => assert.deepEqual(await webhooks.app.audit(), {}))

/** Records events of jobs that do not exist, in one transaction, and announces them. */
async function happen({ app, person }: Pick<WebhooksApp, 'app' | 'person'>, count: number): Promise<void> {
  const events = Array.from({ length: count }, () => ({
    org_id: person.org_id,
    type: 'video.completed' as const,
    subject_id: newId('video'),
  }))
  await app.ctx.db.transaction().execute((tx) => recordEvents(tx, events, app.clock.now()))
  app.ctx.changes.announce(RECLAIMED_TOPIC, DELIVERY_QUEUE)
}

test('an endpoint that does not answer is asked eight times at once and no more, and delays no other organization', async () => {
  const held: ServerResponse[] = []
  const slow = { app: webhooks.app, person: await newCustomer(webhooks.app), receiver: await startReceiver() }
  slow.receiver.answer((response) => void held.push(response))
  await newEndpoint(slow)
  await newEndpoint(webhooks)
  try {
    await happen(slow, 30)
    await slow.receiver.atLeast(8)
    await happen(webhooks, 20)
    await webhooks.receiver.atLeast(20)
    assert.equal(slow.receiver.received.length, 8)
    slow.receiver.answer({ status: 200 })
    for (const response of held) response.writeHead(200).end()
    await slow.receiver.atLeast(30)
    const ids = slow.receiver.received.map(({ event }) => event.id)
    assert.equal(new Set(ids).size, 30)
  } finally {
    await slow.receiver.close()
  }
})

test('a stop lets what is being sent end, and records it', async () => {
  const own = await startWebhooksApp()
  const { database, dir, secret } = own.app
  const held = Promise.withResolvers<ServerResponse>()
  own.receiver.answer((response) => held.resolve(response))
  const { id } = await newEndpoint(own)
  const other = await startApp({ config: WEBHOOKS_CONFIG, background: true, beside: { database, dir, secret } })
  await happen({ app: other, person: own.person }, 1)
  const response = await held.promise
  const stopped = other.close()
  response.writeHead(200).end()
  await stopped
  assert.deepEqual(
    (await deliveriesOf(own, id)).map(({ state, attempts }) => [state, attempts]),
    [['delivered', 1]],
  )
  assert.equal(own.receiver.received.length, 1)
  await own.close()
})

test('a signing secret is encrypted for its endpoint', () => {
  const [old, current] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')]
  const resealed = resealer({ secret: current, secrets: [current, old] })
  const sealed = sealSecret({ secret: old }, 'whe_1', 'whsec_x')
  assert.equal(resealed('whe_2', sealed), 'unreadable')
  const fresh = resealed('whe_1', sealed)!
  assert.notEqual(fresh, 'unreadable')
  assert.equal(resealer({ secret: current, secrets: [current] })('whe_1', fresh), null, 'is current already')
})
