import assert from 'node:assert/strict'
import { after, afterEach, beforeEach, test } from 'node:test'
import pg from 'pg'
import { newPresence, type Presence, releaseIfDead, watchConsumers } from '../../../server/platform/queue/presence.ts'
import { collector, openTestQueue } from './rows.ts'

const queue = await openTestQueue()
const { db, pool, changes, claims, work, add, finish, rowOf } = queue
after(queue.close)
beforeEach(() => pool.query('truncate workers'))
afterEach(queue.clear)

const queues = [{ queue: 'rows', claims }]

/** A worker that is present until `die`, with one row under its claim. */
async function presentWorker(row: string): Promise<Presence & { die(): Promise<void>; client: pg.Client }> {
  const presence = newPresence()
  const client = await connectedClient()
  await presence.announce(client)
  await pool.query('insert into queue_rows (id) values ($1)', [row])
  await claims.claim(db, { claim_id: `${presence.consumer_id}/rows/1`, now: new Date(Date.now() + 1000), limit: 1 })
  return { ...presence, client, die: () => client.end() }
}

async function connectedClient(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: queue.url })
  await client.connect()
  return client
}

const missingFor = (seconds: number) =>
  pool.query('update workers set missing_since = missing_since - make_interval(secs => $1)', [seconds])

test('the rows of a worker that died are released at its second look, long before their lease ends; those of the living stay', async () => {
  const [dead, alive] = [await presentWorker('dead'), await presentWorker('alive')]
  await dead.die()
  assert.deepEqual(await releaseIfDead(db, dead.consumer_id, queues), [], 'it may be reconnecting')
  await missingFor(1)
  assert.deepEqual(await releaseIfDead(db, dead.consumer_id, queues), [1])
  assert.deepEqual(await releaseIfDead(db, alive.consumer_id, queues), [])
  assert.equal((await rowOf('dead')).claim_id, null)
  assert.equal((await rowOf('alive')).claim_id, `${alive.consumer_id}/rows/1`)
  const { rows } = await pool.query('select id from workers')
  assert.deepEqual(rows, [{ id: alive.consumer_id }])
  await alive.die()
})

test('a worker that lost its connection and made another one keeps its rows', async () => {
  const worker = await presentWorker('kept')
  await worker.die()
  await releaseIfDead(db, worker.consumer_id, queues)
  await missingFor(1)
  const again = await connectedClient()
  await worker.announce(again)
  assert.deepEqual(await releaseIfDead(db, worker.consumer_id, queues), [])
  assert.equal((await rowOf('kept')).claim_id, `${worker.consumer_id}/rows/1`)
  await again.end()
})

test('a worker is present while the server still keeps its connection of before, and after that one ends', async () => {
  const worker = await presentWorker('kept')
  const again = await connectedClient()
  await worker.announce(again)
  await worker.die()
  assert.deepEqual(await releaseIfDead(db, worker.consumer_id, queues), [])
  const { rows } = await pool.query('select missing_since from workers')
  assert.deepEqual(rows, [{ missing_since: null }])
  await again.end()
})

test('a worker that watches reclaims the row of one that died', async () => {
  const seen = collector(1)
  const dead = await presentWorker('orphan')
  await pool.query(
    `update queue_rows set due_at = now() - interval '1 hour', claimed_until = now() + interval '9 seconds'`,
  )
  await add('own')
  const first = collector(1)
  work({
    async run(row) {
      if (row.id === 'own') first.see(row.id)
      else seen.see(row.id)
      return finish(row)
    },
  })
  await first.all
  const counts: number[] = []
  const watch = watchConsumers({
    db,
    changes,
    queues,
    on_released: (count) => counts.push(count),
    on_error: assert.ifError,
  })
  await dead.die()
  assert.deepEqual(await seen.all, ['orphan'])
  await watch.stop()
  assert.deepEqual(counts, [1])
})
