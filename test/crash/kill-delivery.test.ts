import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { send } from '../support/http/send.ts'
import { startReceiver, unwrap } from '../support/webhooks/app.ts'
import { audit, keyOf, kill, openSite, query, start, stop } from './kinora.ts'

/** Between the commit that ends a response and its delivery, and between the delivery and its record. */
const POINTS = ['after_response_end', 'before_delivery', 'after_delivery']
const RESPONSES = 2

const CONFIG = `
first_run: { balance: "1000000.00" }
video_models: []
chat_models: [{ id: sandbox-1, engine: sandbox, price_per_million: { input: "1", output: "2" } }]
webhooks: { allow_loopback: true }
`

test(`killed at ${POINTS.length} points between the end of a response and its delivery: every event arrives, under one id`, async () => {
  const [site, receiver] = [await openSite(), await startReceiver()]
  writeFileSync(site.config, CONFIG)
  const key = keyOf(site)
  let secret = ''
  try {
    for (const point of POINTS) {
      const kinora = await start(site, { failpoint: point })
      if (secret === '') {
        // A response that is lost again and again fails in the end, which is an event too.
        const body = { name: 'Test', url: receiver.url, event_types: ['response.completed', 'response.failed'] }
        secret = (await send(kinora, 'POST', '/v1/webhook_endpoints', { key }, body)).body.signing_secret
      }
      const body = { model: 'sandbox-1', input: point, background: true }
      for (let n = 0; n < RESPONSES; n++) await send(kinora, 'POST', '/v1/responses', { key }, body).catch(() => null)
      assert.equal(await Promise.race([kinora.ended, pause(20_000, undefined, { ref: false })]), 'SIGKILL', point)
    }
    const last = await start(site)
    await delivered(() => query(site, "select count(*)::int as n from event_deliveries where state <> 'delivered'"))
    await delivered(() => query(site, 'select count(*)::int as n from responses where finished_at is null'))
    await delivered(() => query(site, "select count(*)::int as n from event_deliveries where state <> 'delivered'"))
    const ended = await query(
      site,
      'select r.id, e.id as event from responses r left join events e on e.subject_id = r.id',
    )
    for (const { id, event } of ended) {
      const received = receiver.received.filter(({ event }) => event.data.id === id)
      assert.ok(received.length >= 1, `${id}: ${event}`)
      for (const each of received) {
        assert.equal(each.event.id, event)
        await unwrap(each, secret)
      }
    }
    assert.equal(await audit(site), '')
    assert.equal(await stop(last), 0)
  } finally {
    for (const each of site.services) await kill(each)
    await receiver.close()
    await site.close()
  }
})

async function delivered(left: () => Promise<Array<Record<string, unknown>>>): Promise<void> {
  const until = performance.now() + 60_000
  for (;;) {
    const [row] = await left()
    if (row!.n === 0) return
    if (performance.now() > until) throw new Error(`${row!.n} are left`)
    await pause(100)
  }
}
