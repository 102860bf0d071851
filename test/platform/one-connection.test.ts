import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDb } from '../../server/platform/db/db.ts'
import { onOneConnection } from '../../server/platform/db/one-connection.ts'
import { runWhenDue } from '../../server/platform/sweep.ts'
import { testDatabase } from '../support/data/postgres.ts'

test('twenty sweeps that need a connection each run at once on a pool of two', async () => {
  const database = await testDatabase()
  const { pool, close } = openDb(database.url, { pool_max: 2 })
  try {
    const locks = onOneConnection(pool)
    const pids = new Set<number>()
    let ran = 0
    const run = async () => {
      ran += 1
      const { rows } = await pool.query('select pg_backend_pid() as pid')
      pids.add(rows[0].pid)
    }
    const names = Array.from({ length: 20 }, (_, i) => `sweep ${i}`)
    await Promise.all(names.map((name) => runWhenDue(locks, { name, every_seconds: 1, run })))
    assert.equal(ran, 20)
    assert.equal(pids.size, 1, 'the locks were held on the other connection')
    const broken = await locks.connect()
    const other = await locks.connect()
    broken.release(new Error('lost'))
    await assert.rejects(other.query('select 1'))
    other.release()
    const next = await locks.connect()
    assert.equal((await next.query('select 1 as one')).rows[0].one, 1)
    next.release()
  } finally {
    await close()
    await database.close()
  }
})
