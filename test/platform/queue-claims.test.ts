import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { systemClock } from '../../server/platform/clock.ts'
import { openChanges } from '../../server/platform/db/changes.ts'
import { type Claimed, claimsOn } from '../../server/platform/queue/claims.ts'
import { RECLAIMED_TOPIC, startWorker } from '../../server/platform/queue/worker.ts'
import { testDatabase } from '../support/data/postgres.ts'

const { db, pool, url, close } = await testDatabase()
const claims = claimsOn<Claimed>({ table: 'queue_rows', due: 'due_at', open: sql`not done` })

before(async () => {
  await pool.query(`
    create table queue_rows (id text primary key, done boolean not null default false,
      due_at timestamptz not null default now(), claim_id text, claimed_until timestamptz);
    create index queue_rows_ready on queue_rows (due_at) where not done and claim_id is null`)
})
after(close)

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
  const changes = await openChanges({ db, url })
  const seen: string[] = []
  const all = Promise.withResolvers<void>()
  const worker = startWorker<Claimed>({
    ...{ db, clock: systemClock, changes, queue: 'rows', claims, concurrency: 4, sole: false, polling_seconds: 0.1 },
    ...{ stop_seconds: { finish: 1, abort: 1 }, on_error: () => {} },
    async run({ id }) {
      await pool.query('update queue_rows set done = true, claim_id = null where id = $1', [id])
      if (seen.push(id) === 3) all.resolve()
      return null
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
  await all.promise
  assert.deepEqual(seen.sort(), ['first', 'freed', 'late'])
  await worker.stop()
  await changes.close()
})
