import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, afterEach, before, test } from 'node:test'
import { sql } from 'kysely'
import { systemClock } from '../../server/platform/clock.ts'
import { type Changes, openChanges } from '../../server/platform/db/changes.ts'
import { type Claimed, claimsOn, LEASE_SECONDS } from '../../server/platform/queue/claims.ts'
import { QUEUE_TOPIC, startWorker, type Worker, type WorkerOptions } from '../../server/platform/queue/worker.ts'
import { testDatabase } from '../support/data/postgres.ts'

const { db, pool, url, close } = await testDatabase()
let changes: Changes
const started: Worker<Row>[] = []

type Row = Claimed & { n: number }
const claims = claimsOn<Row>({ table: 'queue_rows', due: 'due_at', open: sql`not done` })

before(async () => {
  changes = await openChanges({ db, url })
  await pool.query(`
    create table queue_rows (id text primary key, n int not null default 0, done boolean not null default false,
      due_at timestamptz not null default now(), claim_id text, claimed_until timestamptz);
    create index queue_rows_ready on queue_rows (due_at) where not done and claim_id is null;
    create index on queue_rows (claimed_until) where claim_id is not null`)
})
after(async () => {
  await changes.close()
  await close()
})
afterEach(async () => {
  await Promise.all(started.splice(0).map((worker) => worker.stop()))
  await pool.query('truncate queue_rows')
})

function work(options: Partial<WorkerOptions<Row>> & Pick<WorkerOptions<Row>, 'run'>): Worker<Row> {
  const worker = startWorker<Row>({
    ...{ db, clock: systemClock, changes, queue: 'rows', claims, concurrency: 4, sole: false, polling_seconds: 0.1 },
    ...{ stop_seconds: { finish: 0, abort: 0.2 }, on_error: () => {}, ...options },
  })
  started.push(worker)
  return worker
}

async function add(...ids: string[]): Promise<void> {
  await pool.query('insert into queue_rows (id) select * from unnest($1::text[])', [ids])
  changes.announce(QUEUE_TOPIC, 'rows')
}

const finish = async (row: Claimed): Promise<null> => {
  await pool.query('update queue_rows set done = true, claim_id = null, claimed_until = null where id = $1', [row.id])
  return null
}
const rowOf = async (id: string) => (await pool.query('select * from queue_rows where id = $1', [id])).rows[0]

/** Remembers ids, and resolves `all` once there are `count` of them. */
function collector(count: number) {
  const ids: string[] = []
  const { promise, resolve } = Promise.withResolvers<string[]>()
  return {
    ids,
    all: promise,
    see(id: string) {
      ids.push(id)
      if (ids.length >= count) resolve(ids)
    },
  }
}

test('a row that is due is worked on under a claim, and one that is rolled back never is', async () => {
  const seen = collector(2)
  work({
    async run(row) {
      assert.notEqual(row.claim_id, null)
      seen.see(row.id)
      return finish(row)
    },
  })
  await assert.rejects(
    db.transaction().execute(async (tx) => {
      await sql`insert into queue_rows (id) values ('rolled back')`.execute(tx)
      throw new Error('no')
    }),
  )
  await add('one', 'two')
  assert.deepEqual((await seen.all).sort(), ['one', 'two'])
})

test('a row is found without a hint, and not before it is due', async () => {
  const [first, both] = [collector(1), collector(2)]
  work({
    async run(row) {
      first.see(row.id)
      both.see(row.id)
      return finish(row)
    },
  })
  await pool.query(`insert into queue_rows (id, due_at) values ('later', now() + interval '1 hour'), ('now', now())`)
  assert.deepEqual(await first.all, ['now'])
  await pool.query('update queue_rows set due_at = now()')
  assert.deepEqual(await both.all, ['now', 'later'])
})

test('two workers never have one row, and three hundred rows are all worked on, no more at once than allowed', async () => {
  const seen = collector(300)
  let running = 0
  let most = 0
  const run = async (row: Row) => {
    most = Math.max(most, ++running)
    await sql`update queue_rows set n = n + 1 where id = ${row.id}`.execute(db)
    await finish(row)
    running -= 1
    seen.see(row.id)
    return null
  }
  await add(...Array.from({ length: 300 }, (_, i) => `row ${i}`))
  work({ run, concurrency: 7 })
  work({ run, concurrency: 7 })
  await seen.all
  const { rows } = await pool.query('select min(n), max(n) from queue_rows')
  assert.deepEqual(rows[0], { min: 1, max: 1 })
  assert.ok(most <= 14, `${most} at once`)
})

test('a row that waits stays with its worker, takes no slot, and keeps its claim', async () => {
  const again = collector(2)
  const other = collector(1)
  work({
    concurrency: 1,
    async run(row) {
      if (row.id === 'other') {
        other.see(row.id)
        return finish(row)
      }
      again.see(row.claim_id!)
      return again.ids.length < 2 ? { row, wait_seconds: 0.05 } : finish(row)
    },
  })
  await add('patient', 'other')
  await other.all
  const [first, second] = await again.all
  assert.equal(first, second)
})

test('rows that are stuck while every slot is taken hold up no row that is in hand', async () => {
  const [stuck, again] = [Promise.withResolvers<void>(), collector(2)]
  work({
    concurrency: 1,
    async run(row) {
      if (row.id === 'stuck') {
        await stuck.promise
        return finish(row)
      }
      again.see(row.id)
      return again.ids.length < 2 ? { row, wait_seconds: 0.05 } : finish(row)
    },
  })
  await pool.query(`insert into queue_rows (id, due_at) values ('in hand', now() - interval '0.1 second')`)
  await add('stuck')
  await again.all
  stuck.resolve()
})

test('what a killed worker held is free at once where no other can live, else when its lease has ended', async () => {
  const seen = collector(1)
  const run = async (row: Row) => {
    seen.see(row.id)
    return finish(row)
  }
  await add('held', 'leased')
  // The clock of the database counts finer.
  const now = new Date(Date.now() + 1000)
  assert.equal((await claims.claim(db, { claim_id: 'dead/1', now, limit: 1 })).length, 1)
  await pool.query(`update queue_rows set due_at = now() + interval '1 hour' where claim_id is null`)
  const another = work({ run })
  assert.equal(await claims.releaseExpired(db), 0, 'its worker may be alive')
  await another.stop()
  assert.deepEqual(seen.ids, [])
  work({ run, sole: true })
  assert.equal((await seen.all).length, 1)
  await pool.query('update queue_rows set due_at = now(), done = false')
  await claims.claim(db, { claim_id: 'dead/2', now: new Date(Date.now() + 1000), limit: 10 })
  await pool.query(`update queue_rows set claimed_until = claimed_until - make_interval(secs => $1)`, [
    LEASE_SECONDS + 1,
  ])
  assert.ok((await claims.releaseExpired(db)) > 0)
})

test('a worker that lost its claim is notified, and its later writes change nothing', async () => {
  const begun = Promise.withResolvers<Row>()
  const over = Promise.withResolvers<unknown>()
  const worker = work({
    async run(row, signal) {
      begun.resolve(row)
      await once(signal, 'abort')
      over.resolve(signal.reason)
      throw signal.reason
    },
  })
  await add('lost')
  const row = await begun.promise
  await pool.query(`update queue_rows set claim_id = 'another', claimed_until = now() + interval '1 minute'`)
  assert.deepEqual(await claims.renew(db, [row]), new Set(['lost']))
  assert.equal(worker.drop(row.id)?.id, 'lost')
  await over.promise
  await claims.release(db, [row])
  assert.equal((await rowOf('lost')).claim_id, 'another')
})

test('work that throws is released and retried, and its error is reported', async () => {
  const errors: unknown[] = []
  const seen = collector(2)
  work({
    on_error: (error) => errors.push(error),
    async run(row) {
      seen.see(row.id)
      if (seen.ids.length === 1) throw new Error('first time')
      return finish(row)
    },
  })
  await add('unlucky')
  assert.deepEqual(await seen.all, ['unlucky', 'unlucky'])
  assert.match(String(errors[0]), /first time/)
})

test('stop lets short work finish, aborts long work, and releases what will not end and what waits', async () => {
  const begun = collector(4)
  const short = Promise.withResolvers<void>()
  const aborted: string[] = []
  const worker = work({
    stop_seconds: { finish: 0.3, abort: 0.2 },
    async run(row, signal) {
      begun.see(row.id)
      if (row.id === 'waits') return { row, wait_seconds: 3600 }
      if (row.id === 'short') {
        await short.promise
        return finish(row)
      }
      signal.addEventListener('abort', () => aborted.push(row.id))
      if (row.id === 'deaf') return new Promise<null>(() => {})
      await once(signal, 'abort')
      throw signal.reason
    },
  })
  await add('short', 'long', 'deaf', 'waits')
  await begun.all
  const stopped = worker.stop()
  short.resolve()
  await stopped
  assert.deepEqual(aborted.sort(), ['deaf', 'long'])
  const { rows } = await pool.query('select id, done, claim_id from queue_rows order by id')
  assert.deepEqual(rows, [
    { id: 'deaf', done: false, claim_id: null },
    { id: 'long', done: false, claim_id: null },
    { id: 'short', done: true, claim_id: null },
    { id: 'waits', done: false, claim_id: null },
  ])
})

test('work that goes on through a stop keeps its claim, however long a lease is', async () => {
  const begun = Promise.withResolvers<void>()
  const renewed = Promise.withResolvers<void>()
  // One renewal may have been under way when the stop began.
  let left = Number.POSITIVE_INFINITY
  const worker = work({
    stop_seconds: { finish: 10, abort: 0.2 },
    claims: {
      ...claims,
      async renew(on, held) {
        const lost = await claims.renew(on, held)
        if (held.length > 0 && --left === 0) renewed.resolve()
        return lost
      },
    },
    async run(row, signal) {
      begun.resolve()
      await Promise.race([renewed.promise, once(signal, 'abort')])
      signal.throwIfAborted()
      return finish(row)
    },
  })
  await add('long')
  await begun.promise
  left = 2
  await worker.stop()
  assert.equal((await rowOf('long')).done, true, 'aborted before its claim was renewed')
})

test('a stop waits for work on a row that was dropped, which has still to be tidied up', async () => {
  const begun = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  let tidy = false
  const worker = work({
    stop_seconds: { finish: 0, abort: 30 },
    async run(_, signal) {
      begun.resolve()
      await once(signal, 'abort')
      await gate.promise
      tidy = true
      return null
    },
  })
  await add('dropped')
  await begun.promise
  worker.drop('dropped')
  const stopped = worker.stop().then(() => tidy)
  for (let i = 0; i < 20; i++) await pool.query('select 1')
  gate.resolve()
  assert.ok(await stopped)
})

test('a claim whose answer is on its way here is not taken for one that nobody holds', async () => {
  let hear: (id: string | null) => void = () => {}
  let freeing: Promise<number> | null = null
  const seen = Promise.withResolvers<Row>()
  await pool.query(`insert into queue_rows (id) values ('claimed')`)
  work({
    sole: true,
    changes: {
      ...changes,
      on(_, listener) {
        hear = listener
        return () => true
      },
    },
    claims: {
      ...claims,
      async claim(on, wanted) {
        freeing = null
        const rows = await claims.claim(on, wanted)
        // The connection that listens was made anew.
        if (rows.length > 0) hear(null)
        await freeing
        return rows
      },
      releaseAllBut(on, held) {
        freeing = claims.releaseAllBut(on, held)
        return freeing
      },
    },
    async run(row) {
      seen.resolve(row)
      return { row, wait_seconds: 3600 }
    },
  })
  const { id, claim_id } = await seen.promise
  assert.equal((await rowOf(id)).claim_id, claim_id)
})

test('a statement that is never answered stops neither claims nor their renewal', { timeout: 30_000 }, async () => {
  const never = () => new Promise<never>(() => {})
  const calls = { claim: 0, renew: 0 }
  const renewed = Promise.withResolvers<void>()
  const worker = work({
    claims: {
      ...claims,
      claim: (on, wanted) => (calls.claim++ === 0 ? never() : claims.claim(on, wanted)),
      async renew(on, held) {
        if (calls.renew++ === 0) return never()
        if (held.length > 0) renewed.resolve()
        return claims.renew(on, held)
      },
    },
    async run(row) {
      await renewed.promise
      return finish(row)
    },
  })
  await add('patient')
  await renewed.promise
  await worker.stop()
})
