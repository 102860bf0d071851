import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { sql } from 'kysely'
import { RECLAIMED_TOPIC } from '../../../server/platform/queue/consumer.ts'
import { collector, openTestQueue } from './rows.ts'

const queue = await openTestQueue()
const { db, pool, changes, claims, work, finish } = queue
after(queue.close)
afterEach(queue.clear)

test('a claim reads no row that ended before, though a snapshot keeps what the index holds of it', async () => {
  const snapshot = await pool.connect()
  try {
    await snapshot.query('begin isolation level repeatable read; select 1 from queue_rows')
    await pool.query(
      `insert into queue_rows (id, due_at) select 'old' || n, now() - interval '1 hour' from generate_series(1, 500) n`,
    )
    await pool.query('update queue_rows set done = true')
    const minuteAgo = new Date(Date.now() - 60_000)
    assert.ok((await readByClaim(null)) >= 500, 'without a bound')
    const bounded = await readByClaim(minuteAgo)
    assert.ok(bounded <= 2, `with one: ${bounded}`)
  } finally {
    await snapshot.query('rollback')
    snapshot.release()
  }
})

/** Index entries that one claim reads. */
async function readByClaim(due_from: Date | null): Promise<number> {
  return db.transaction().execute(async (tx) => {
    const read = async () =>
      (
        await sql<{
          n: number
        }>`select pg_stat_get_xact_tuples_returned('queue_rows_ready'::regclass)::int as n`.execute(tx)
      ).rows[0]!.n
    const before = await read()
    await claims.claim(tx, { claim_id: 'reader', now: new Date(), limit: 10, due_from })
    return (await read()) - before
  })
}

test('a row that became due long ago is claimed, whichever process freed it', async () => {
  const seen = collector(3)
  work({
    async run(row) {
      seen.see(row.id)
      return finish(row)
    },
  })
  await pool.query(`insert into queue_rows (id) values ('first')`)
  await pool.query(`insert into queue_rows (id, due_at) values ('late', now() - interval '1 hour')`)
  await pool.query(
    `insert into queue_rows (id, due_at, claim_id, claimed_until)
     values ('freed', now() - interval '1 hour', 'dead', now() - interval '1 hour')`,
  )
  assert.equal(await claims.releaseExpired(db, { expired_seconds_max: 60 }), 0, 'its lease ended earlier')
  assert.equal(await claims.releaseExpired(db), 1)
  changes.announce(RECLAIMED_TOPIC, 'rows')
  assert.deepEqual((await seen.all).sort(), ['first', 'freed', 'late'])
})
