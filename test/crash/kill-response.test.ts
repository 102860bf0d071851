import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { send } from '../support/http/send.ts'
import { audit, keyOf, kill, openSite, query, type Site, start, stop } from './kinora.ts'

const POINTS = [
  ...['after_queue_response:2', 'response_begun:2'],
  ...['before_response_end:1', 'within_response_end:2', 'after_response_end:1'],
]
/** Responses submitted at once before each crash. */
const RESPONSES = 3
const PATIENCE_SECONDS = 5

const CONFIG = `
first_run: { balance: "1000000.00" }
video_models: []
chat_models: [{ id: sandbox-1, engine: sandbox, price_per_million: { input: "1", output: "2" } }]
`

test(`killed at ${POINTS.length} points of a background response: every response completes, has one end, and is charged once`, async () => {
  const site = await openSite()
  writeFileSync(site.config, CONFIG)
  const acknowledged: string[] = []
  const passed: string[] = []
  const key = keyOf(site)
  try {
    for (const point of POINTS) {
      const kinora = await start(site, { failpoint: point })
      await Promise.all(
        Array.from({ length: RESPONSES }, (_, n) => submit(kinora, key, `${point}, ${n}`, acknowledged)),
      )
      await Promise.race([kinora.ended, pause(PATIENCE_SECONDS * 1000)])
      if (kinora.process.signalCode === null) await kill(kinora)
      else passed.push(point)
      // Not into the next crash: a response that is lost again and again fails in the end.
      const next = await start(site)
      await ended(site)
      if (point === POINTS.at(-1)) {
        assert.equal(await audit(site), '')
        await compare(site, acknowledged)
        assert.equal(await stop(next), 0)
      } else await kill(next)
    }
    assert.deepEqual(passed, POINTS)
  } finally {
    await site.close()
  }
})

/** Notes the id of a response that was accepted; the service may die before it says so. */
async function submit(kinora: { url: string }, key: string, input: string, acknowledged: string[]): Promise<void> {
  const body = { model: 'sandbox-1', input, background: true }
  const answer = await send(kinora, 'POST', '/v1/responses', { key }, body).catch(() => null)
  if (answer === null) return
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  acknowledged.push(answer.body.id)
}

async function ended(site: Site): Promise<void> {
  const until = performance.now() + 60_000
  for (;;) {
    const [row] = await query(site, 'select count(*)::int as n from responses where finished_at is null')
    if (row!.n === 0) return
    if (performance.now() > until) throw new Error(`${row!.n} responses are still under way`)
    await pause(100)
  }
}

async function compare(site: Site, acknowledged: string[]): Promise<void> {
  const responses = await query(
    site,
    `select r.id, r.status,
       (select count(*)::int from ledger_entries e where e.request_id = r.request_id and e.kind = 'charge') as charges,
       (select count(*)::int from response_items i where i.response_id = r.id and i.direction = 'output') as items
     from responses r`,
  )
  const ids = new Set(responses.map(({ id }) => id))
  assert.deepEqual(
    acknowledged.filter((id) => !ids.has(id)),
    [],
    'nothing acknowledged is missing',
  )
  for (const { id, status, charges, items } of responses) {
    assert.deepEqual([status, charges, items], ['completed', 1, 1], String(id))
  }
}
