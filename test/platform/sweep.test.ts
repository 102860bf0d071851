import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openDb } from '../../server/platform/db/db.ts'
import { runAlone, startSweeps } from '../../server/platform/sweep.ts'
import { testDatabase } from '../support/data/postgres.ts'

const { pool, url, close } = await testDatabase()
after(close)

test('of many processes one at a time runs a sweep; other sweeps do not block it', async () => {
  const other = openDb(url)
  const release = Promise.withResolvers<void>()
  const running = Promise.withResolvers<void>()
  const run = () => {
    running.resolve()
    return release.promise
  }
  const slow = { name: 'slow', every_seconds: 1, run }
  const first = runAlone(pool, slow)
  await running.promise
  assert.equal(await runAlone(other.pool, { ...slow, run: () => assert.fail('ran twice') }), false)
  assert.equal(await runAlone(other.pool, { name: 'else', every_seconds: 1, run: async () => {} }), true)
  release.resolve()
  assert.equal(await first, true)
  assert.equal(await runAlone(other.pool, { ...slow, run: async () => {} }), true)
  await other.close()
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
  assert.equal(await runAlone(pool, { name: 'broken', every_seconds: 1, run: async () => {} }), true)
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
