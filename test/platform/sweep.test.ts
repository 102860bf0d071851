import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { handMovedClock } from '../../server/platform/clock.ts'
import { openDb } from '../../server/platform/db/db.ts'
import { toText } from '../../server/platform/metrics/exposition.ts'
import { openMetrics } from '../../server/platform/metrics/metrics.ts'
import { measuredSweep, runWhenDue, startSweeps } from '../../server/platform/sweep.ts'
import { readExposition, sumOf } from '../support/data/exposition.ts'
import { testDatabase } from '../support/data/postgres.ts'

const { pool, url, close } = await testDatabase()
const other = openDb(url)
after(async () => {
  await other.close()
  await close()
})
afterEach(() => pool.query('truncate sweeps'))

test('of many processes one at a time runs a sweep; other sweeps do not block it', async () => {
  const release = Promise.withResolvers<void>()
  const running = Promise.withResolvers<void>()
  const run = () => {
    running.resolve()
    return release.promise
  }
  const slow = { name: 'slow', every_seconds: 600, run }
  const first = runWhenDue(pool, slow)
  await running.promise
  assert.equal(await runWhenDue(other.pool, { ...slow, run: () => assert.fail('ran twice') }), 5, 'looks again soon')
  let ran = false
  const run_other = async () => {
    ran = true
  }
  await runWhenDue(other.pool, { name: 'else', every_seconds: 1, run: run_other })
  assert.ok(ran)
  release.resolve()
  assert.equal(await first, 600)
})

test('a sweep runs once an interval over all processes, counted by the clock of the database', async () => {
  let runs = 0
  const sweep = {
    name: 'hourly',
    every_seconds: 3600,
    run: async () => {
      runs += 1
    },
  }
  for (const each of [pool, other.pool, pool, other.pool]) {
    const seconds = await runWhenDue(each, sweep)
    assert.ok(seconds > 0 && seconds <= 3600)
  }
  assert.equal(runs, 1)
  await pool.query(`update sweeps set ended_at = ended_at - interval '59 minutes'`)
  const left = await runWhenDue(other.pool, sweep)
  assert.ok(left > 0 && left <= 60, `${left} s`)
  assert.equal(runs, 1)
  await pool.query(`update sweeps set ended_at = ended_at - interval '1 minute'`)
  for (const each of [pool, other.pool]) await runWhenDue(each, sweep)
  assert.equal(runs, 2)
})

test('a sweep that was cut by a crash is run by the next process that looks', async () => {
  const begun = Promise.withResolvers<void>()
  const crashing = openDb(url)
  const sweep = { name: 'cut', every_seconds: 3600, run: async () => {} }
  const cut = runWhenDue(crashing.pool, {
    ...sweep,
    run() {
      begun.resolve()
      return new Promise<void>(() => {})
    },
  })
  void cut.catch(() => {})
  await begun.promise
  await pool.query(
    `select pg_terminate_backend(pid, 10000) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
  )
  let ran = false
  await runWhenDue(other.pool, {
    ...sweep,
    async run() {
      ran = true
    },
  })
  assert.ok(ran)
})

test('a sweep that throws is reported and its next turn comes as usual', async () => {
  const errors: string[] = []
  const twice = Promise.withResolvers<void>()
  let runs = 0
  const run = async () => {
    runs += 1
    if (runs === 2) twice.resolve()
    throw new Error(`run ${runs}`)
  }
  const hold = setInterval(() => {}, 1000)
  const sweeps = startSweeps([{ name: 'broken', every_seconds: 0.001, run }], {
    pool,
    on_error: (error, sweep) => errors.push(`${sweep}: ${(error as Error).message}`),
  })
  await twice.promise
  await sweeps.stop()
  clearInterval(hold)
  assert.deepEqual(errors.slice(0, 2), ['broken: run 1', 'broken: run 2'])
})

test('a sweep that could not begin is tried again within seconds and reported once, not an interval later', async () => {
  const pauses: number[] = []
  const errors: unknown[] = []
  const enough = Promise.withResolvers<void>()
  let left = 2
  const flaky = Object.create(pool, {
    connect: { value: () => (left-- > 0 ? Promise.reject(new Error('away')) : pool.connect()) },
  }) as typeof pool
  const sweeps = startSweeps([{ name: 'hourly', every_seconds: 3600, run: async () => {} }], {
    pool: flaky,
    on_error: (error) => errors.push(error),
    async pause(seconds, signal) {
      if (pauses.push(seconds) < 3) return
      enough.resolve()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    },
  })
  await enough.promise
  await sweeps.stop()
  assert.deepEqual([pauses, errors.length], [[5, 5, 3600], 1])
})

test('a sweep reports when it last worked and when it last failed, whatever becomes of it in other processes', async () => {
  const [metrics, clock] = [openMetrics(), handMovedClock()]
  const started = clock.now().getTime() / 1000
  let fails = false
  const run = async () => {
    if (fails) throw new Error('broken')
  }
  const sweep = measuredSweep({ metrics, clock }, { name: 'hourly', every_seconds: 3600, run })
  const ends = async () => {
    const read = readExposition(await toText([await metrics.read()]))
    const endOf = (outcome: string) => sumOf(read, 'kinora_sweep_last_end_timestamp_seconds', { outcome })
    assert.equal(sumOf(read, 'kinora_sweep_interval_seconds', { sweep: 'hourly' }), 3600)
    return [endOf('worked') - started, endOf('failed') && endOf('failed') - started]
  }
  assert.deepEqual(await ends(), [0, 0])
  clock.advance(5)
  await sweep.run()
  fails = true
  clock.advance(5)
  await assert.rejects(sweep.run(), /broken/)
  assert.deepEqual(await ends(), [5, 10])
})

test('what each process looks after for itself is done by every process', async () => {
  const both = Promise.withResolvers<void>()
  const ran = new Set<number>()
  const started = [pool, other.pool].map((each, i) => {
    const run = async () => {
      if (ran.add(i).size === 2) both.resolve()
    }
    return startSweeps([{ name: 'own', every_seconds: 3600, each_process: true, run }], {
      pool: each,
      on_error: assert.ifError,
    })
  })
  await both.promise
  for (const each of started) await each.stop()
})

test('stop waits for the sweep that is running and starts no other', async () => {
  const running = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  let ended = 0
  const run = async () => {
    running.resolve()
    await release.promise
    ended += 1
  }
  const sweeps = startSweeps([{ name: 'long', every_seconds: 0, run }], { pool, on_error: assert.ifError })
  await running.promise
  const stopped = sweeps.stop()
  release.resolve()
  await stopped
  assert.equal(ended, 1)
})
