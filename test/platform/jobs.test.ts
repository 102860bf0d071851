import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, afterEach, test } from 'node:test'
import { sql } from 'kysely'
import { fromKysely, PgBoss } from 'pg-boss'
import { openWakes, type Wakes, type WakesOptions } from '../../server/platform/jobs.ts'
import { testDatabase } from '../support/postgres.ts'

const { db, pool, url, truncateAll, close } = await testDatabase()
const queues = ['videos', 'webhooks']
const opened: Wakes[] = []
const sender = openWakes({ url, db, queues, role: 'send' })
after(close)
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.stop()))
  await truncateAll()
})

test('a wake-up reaches its handler after the commit, with the id alone, and is forgotten once handled', async () => {
  const wakes = await worker()
  const seen = collector(2)
  await wakes.work('videos', seen.handler, { concurrency: 4 })
  await db.transaction().execute(async (tx) => {
    await sender.wake(tx, 'videos', 'video_1')
    await sender.wake(tx, 'videos', 'video_2')
  })
  assert.deepEqual((await seen.all).sort(), ['video_1', 'video_2'])
  await wakes.stop()
  assert.equal(await countWakes(), 0)
})

test('a wake-up inserted in a rolled-back transaction never runs', async () => {
  const wakes = await worker()
  const seen = collector(1)
  await assert.rejects(
    db.transaction().execute(async (tx) => {
      await sender.wake(tx, 'videos', 'rolled_back')
      throw new Error('no')
    }),
  )
  await sender.wake(db, 'videos', 'committed')
  await wakes.work('videos', seen.handler, { concurrency: 1 })
  assert.deepEqual(await seen.all, ['committed'])
  await wakes.stop()
  assert.equal(await countWakes(), 0)
})

test('a wake-up for a queue that does not exist is an error, not silence', async () => {
  await assert.rejects(sender.wake(db, 'no_such_queue', 'x'), /no queue no_such_queue/)
})

test('the row is the one pg-boss itself would insert', async () => {
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false })
  await boss.start()
  for (const after_seconds of [0, 90]) {
    await db.transaction().execute(async (tx) => {
      await boss.send('videos', { id: 'x' }, { db: fromKysely(tx), startAfter: after_seconds })
      await sender.wake(tx, 'videos', 'x', { after_seconds })
    })
  }
  await boss.stop({ graceful: false })
  const { rows } = await pool.query<{ row: object }>(
    `select to_jsonb(job) - 'id' as row from pgboss.job order by start_after`,
  )
  assert.deepEqual(rows[0], rows[1])
  assert.deepEqual(rows[2], rows[3])
})

test('a deferred wake-up runs when it is due and not before', async () => {
  const wakes = await worker()
  const now = collector(1)
  const both = collector(2)
  await sender.wake(db, 'videos', 'later', { after_seconds: 3600 })
  await sender.wake(db, 'videos', 'now')
  const handler = async (id: string) => {
    await now.handler(id)
    await both.handler(id)
  }
  await wakes.work('videos', handler, { concurrency: 2 })
  assert.deepEqual(await now.all, ['now'])
  await pool.query('update pgboss.job set start_after = now()')
  assert.deepEqual(await both.all, ['now', 'later'])
})

test('a wake-up of a worker that was killed runs again at once where no other worker can live', async () => {
  await sender.wake(db, 'videos', 'held')
  await killedWorker()
  const seen = collector(1)
  const wakes = await worker({ sole_worker: true })
  await wakes.work('videos', seen.handler, { concurrency: 1 })
  assert.deepEqual(await seen.all, ['held'])
})

test('a wake-up of a worker that was killed runs again on another machine once its heartbeat is missed', async () => {
  await sender.wake(db, 'videos', 'held')
  await killedWorker()
  await pool.query(`update pgboss.job set heartbeat_on = now() - interval '1 minute'`)
  const seen = collector(1)
  const wakes = await worker()
  await wakes.work('videos', seen.handler, { concurrency: 1 })
  assert.deepEqual(await seen.all, ['held'])
})

test('a handler that throws is called again', async () => {
  const errors: unknown[] = []
  const wakes = await worker({ on_error: (error) => errors.push(error) })
  const seen = collector(2)
  await sender.wake(db, 'videos', 'unlucky')
  const handler = async (id: string) => {
    await seen.handler(id)
    if (seen.ids.length === 1) throw new Error('first time')
  }
  await wakes.work('videos', handler, { concurrency: 1 })
  assert.deepEqual(await seen.all, ['unlucky', 'unlucky'])
  assert.match(String(errors[0]), /first time/)
  const { rows } = await pool.query<{ output: unknown }>('select output from pgboss.job where output is not null')
  assert.deepEqual(rows, [])
})

test('stop lets short work finish, tells long work, and hands back what will not end', async () => {
  const wakes = await worker({ drain_seconds: 0.2 })
  const started = collector(3)
  const finish = Promise.withResolvers<void>()
  const told: string[] = []
  for (const id of ['short', 'long', 'deaf']) await sender.wake(db, 'videos', id)
  const handler = async (id: string, signal: AbortSignal) => {
    await started.handler(id)
    if (id === 'short') return finish.promise
    signal.addEventListener('abort', () => told.push(id))
    if (id === 'deaf') return new Promise<void>(() => {})
    await once(signal, 'abort')
    throw signal.reason
  }
  await wakes.work('videos', handler, { concurrency: 3 })
  await started.all
  const stopped = wakes.stop()
  finish.resolve()
  await stopped
  assert.deepEqual(told.sort(), ['deaf', 'long'])
  const { rows } = await pool.query(`select data->>'id' as id, state, retry_count from pgboss.job order by 1`)
  assert.deepEqual(rows, [
    { id: 'deaf', state: 'created', retry_count: 0 },
    { id: 'long', state: 'created', retry_count: 0 },
  ])
})

test('no more handlers run at once than allowed, and two hundred wake-ups all run', async () => {
  const wakes = await worker()
  const seen = collector(200)
  let running = 0
  let most = 0
  await db.transaction().execute(async (tx) => {
    for (let i = 0; i < 200; i++) await sender.wake(tx, 'videos', `v${i}`)
  })
  const handler = async (id: string) => {
    most = Math.max(most, ++running)
    await sql`select 1`.execute(db)
    running -= 1
    await seen.handler(id)
  }
  await wakes.work('videos', handler, { concurrency: 7 })
  assert.equal(new Set(await seen.all).size, 200)
  assert.equal(most, 7)
})

async function worker(options: Partial<WakesOptions> = {}): Promise<Wakes> {
  const wakes = openWakes({ url, db, queues, role: 'work', polling_seconds: 0.1, ...options })
  opened.push(wakes)
  await wakes.start()
  return wakes
}

async function killedWorker(): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'jobs-crash.ts'), url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'close')
}

/** A handler that remembers, and `all` once it has seen `count`. */
function collector(count: number) {
  const ids: string[] = []
  const { promise, resolve } = Promise.withResolvers<string[]>()
  const handler = async (id: string) => {
    ids.push(id)
    if (ids.length >= count) resolve(ids)
  }
  return { ids, all: promise, handler }
}

async function countWakes(): Promise<number> {
  const { rows } = await pool.query<{ n: number }>('select count(*)::int as n from pgboss.job')
  return rows[0]!.n
}
