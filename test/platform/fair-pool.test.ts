import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type pg from 'pg'
import { openAuditGate } from '../../server/billing/audit-state.ts'
import { openMeter } from '../../server/billing/meter.ts'
import { openHealth } from '../../server/health.ts'
import { systemClock } from '../../server/platform/clock.ts'
import { openChanges } from '../../server/platform/db/changes.ts'
import { isDatabaseDown, openDb } from '../../server/platform/db/db.ts'
import { openGroups } from '../../server/platform/db/groups.ts'
import { takingTurnsAs, turnOwner } from '../../server/platform/turns.ts'
import { saveResponse } from '../../server/responses/stored/save.ts'
import { admitJobs } from '../../server/videos/create/admit.ts'
import { testDatabase } from '../support/data/postgres.ts'
import { postgresProxy } from '../support/upstream/postgres-proxy.ts'

const database = await testDatabase()
after(database.close)

/** A pool whose connections are taken by hand. `close` gives back those that are in use. */
function open(pool_max: number, url = database.url) {
  const { db, pool, close } = openDb(url, { pool_max })
  const in_use = new Set<pg.PoolClient>()
  pool.on('acquire', (client) => in_use.add(client))
  pool.on('release', (_, client) => in_use.delete(client))
  return {
    db,
    pool,
    take: (owner: string) => takingTurnsAs(owner, () => pool.connect()),
    async close() {
      for (const each of in_use) each.release()
      await close()
    },
  }
}

test('owners that wait for a connection take turns, however many connections one of them waits for, and the service has every second', async (t) => {
  const { take, close } = open(1)
  t.after(close)
  const first = await take('many')
  const order: string[] = []
  const use = async (owner: string) => {
    const client = await take(owner)
    order.push(owner)
    client.release()
  }
  const uses = ['many', 'many', 'many', 'many', 'few', 'few', 'one', '', ''].map(use)
  first.release()
  await Promise.all(uses)
  assert.deepEqual(order, ['many', '', 'few', '', 'one', 'many', 'few', 'many', 'many'])
})

test('one owner never has all connections: others find one at once, and its own requests go on as it gives some back', async (t) => {
  const { pool, take, close } = open(10)
  t.after(close)
  const taken: pg.PoolClient[] = []
  const many = Array.from({ length: 12 }, () => take('many').then((client) => taken.push(client)))
  const others = [await take('few'), await take('')]
  await Promise.all(many.slice(0, 8))
  assert.deepEqual([taken.length, pool.waitingCount], [8, 4])
  for (const each of others) each.release()
  await takingTurnsAs('few', () => pool.query('select 1'))
  assert.deepEqual([taken.length, pool.waitingCount], [8, 4])
  for (const client of taken.splice(0)) client.release()
  await Promise.all(many)
  for (const client of taken) client.release()
})

test('a wait for a connection ends as when the database is down after the time of the pool, also when its turn has come meanwhile', async (t) => {
  const proxy = await postgresProxy(database.url)
  const { pool, take, close } = open(1, proxy.url)
  t.after(async () => {
    await close()
    await proxy.close()
  })
  const first = await take('a')
  pool.options.connectionTimeoutMillis = 200
  await assert.rejects(take('a'), isDatabaseDown)
  assert.equal(pool.waitingCount, 0)
  const late = take('a')
  pool.options.connectionTimeoutMillis = 10_000
  const next = take('b')
  proxy.stall()
  // Another connection is to be made, which takes as long as the network is stalled.
  first.release(new Error('broken'))
  await assert.rejects(late, isDatabaseDown)
  proxy.restore()
  await (await next).query('select 1')
})

test('who waits for a connection of a pool that ends is refused as when the database is down', async () => {
  const { pool, take } = open(1)
  const first = await take('a')
  const waits = Promise.allSettled(Array.from({ length: 5000 }, (_, i) => take(`${i % 3}`)))
  const ended = pool.end()
  await assert.rejects(pool.query('select 1'), /after calling end/)
  first.release()
  for (const each of await waits) assert.ok(each.status === 'rejected' && isDatabaseDown(each.reason))
  await ended
})

test('what serves all organizations does not wait in the line of the one that began it', async (t) => {
  const { db, pool, take, close } = open(10)
  pool.options.connectionTimeoutMillis = 500
  const changes = await openChanges({ db, url: database.url })
  await Promise.all(Array.from({ length: 8 }, () => take('busy')))
  t.after(async () => {
    await changes.close()
    await close()
  })
  const clock = systemClock
  const meter = openMeter(db)
  const usage = {
    request_id: 'req_1',
    org_id: 'org_none',
    user_id: 'user_none',
    key_id: null,
    model: 'm',
    amount: 1n,
    input_tokens: 1,
    cached_input_tokens: 0,
    output_tokens: 1,
    reasoning_tokens: 0,
    now: clock.now(),
  }
  const works: Array<[what: string, work: () => Promise<unknown>]> = [
    ['a group', () => openGroups().join('a', 1, async (items) => [(await pool.query('select 1')).rowCount, ...items])],
    ['a pause after an audit', () => openAuditGate({ db, clock, changes }).requireSoundAccounts()],
    ['a charge', () => meter.charge(usage).catch((error: { code?: string }) => assert.equal(error.code, '23503'))],
    [
      'an announcement',
      async () => {
        const owner = new Promise((resolve) => changes.on('topic', () => resolve(turnOwner())))
        changes.announce('topic', 'id')
        assert.equal(await owner, '')
      },
    ],
    [
      'a check of health',
      async () => {
        const blobs = { stage: async () => '', discard: async () => {}, check: async () => {} }
        assert.equal((await openHealth({ db, blobs: blobs as never, clock })()).database, 'ok')
      },
    ],
  ]
  meter.expect()
  for (const [what, work] of works) await assert.doesNotReject(takingTurnsAs('busy', work), what)
  assert.equal(pool.waitingCount, 0)
})

test('a group of one organization waits in its line', async (t) => {
  const { db, pool, take, close } = open(10)
  t.after(close)
  pool.options.connectionTimeoutMillis = 500
  await Promise.all(Array.from({ length: 8 }, () => take('busy')))
  const ctx = {
    db,
    clock: systemClock,
    groups: openGroups(),
    changes: { announce() {}, on: () => () => {}, async close() {} },
  }
  const principal = { org_id: 'busy' } as never
  const response = { id: 'resp_1', created_at: 0, output: [] } as never
  const job = { org_id: 'busy' } as never
  const works = [
    () => saveResponse(ctx, { principal, request_id: 'req_1' }, { response, input: [] }),
    () => admitJobs(ctx, { jobs: [job], running_max: 1, reservation: null }),
  ]
  for (const work of works) await assert.rejects(work, isDatabaseDown)
})
