import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '../../../server/platform/clock.ts'
import { addSeconds } from '../../../server/platform/clock.ts'
import { askForTime, followDatabaseClock } from '../../../server/platform/db/database-clock.ts'
import { newColleague } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { submit } from '../../support/http/videos-app.ts'
import { startTwoNodes } from './two-nodes.ts'

/** The clock of a node that shows the wrong time although it follows the database. */
function wrongBy(seconds: number): Clock {
  return { now: () => addSeconds(new Date(), seconds), follows_database: true }
}

test('two nodes whose clocks differ by ten minutes let exactly the requests of one minute through', async (t) => {
  const config = 'plans: { free: { requests_per_minute: 2 } }'
  const nodes = await startTwoNodes({ a: { config }, b: () => ({ config, clock: wrongBy(600) }) })
  t.after(nodes.close)
  const { a, b, customer } = nodes
  const statuses = await Promise.all(
    Array.from({ length: 10 }, async (_, i) => (await send([a, b][i % 2]!, 'GET', '/v1/models', customer)).status),
  )
  assert.equal(statuses.filter((status) => status === 200).length, 2)
})

test('jobs submitted through two nodes in turn are listed in that order, whatever the clocks of their machines say', async (t) => {
  const nodes = await startTwoNodes()
  t.after(nodes.close)
  const { a, b, customer } = nodes
  const followed = [a, b].map(() => followDatabaseClock({ ask: askForTime(a.database.pool), monotonic_ms: skewed() }))
  const [one, other] = await Promise.all(followed)
  a.ctx.clock = one!
  b.ctx.clock = other!
  const made: string[] = []
  for (let i = 0; i < 6; i++) made.push((await submit([a, b][i % 2]!, customer)).body.id)
  const { body } = await send(b, 'GET', '/v1/videos?order=asc', customer)
  assert.deepEqual(
    body.data.map(({ id }: { id: string }) => id),
    made,
  )
  for (const each of followed) (await each).close()
})

/** The monotonic clock of a machine, which began at any time. */
function skewed(): () => number {
  const began = Math.random() * 1e9
  return () => began + performance.now()
}

test('a person who agrees on one node and submits on another, whose clock is behind, does not alarm the audit', async (t) => {
  const nodes = await startTwoNodes({ b: () => ({ clock: wrongBy(-20) }) })
  t.after(nodes.close)
  const { a, b, customer } = nodes
  const colleague = await newColleague(a, customer.org_id)
  assert.equal((await submit(b, colleague)).status, 200)
  assert.deepEqual(await a.audit(), {})
})
