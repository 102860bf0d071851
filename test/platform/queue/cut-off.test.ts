import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, afterEach, test } from 'node:test'
import { openDb } from '../../../server/platform/db/db.ts'
import { postgresProxy } from '../../support/upstream/postgres-proxy.ts'
import { openTestQueue, type Row } from './rows.ts'

const queue = await openTestQueue()
const { url, pool, claims, work, add, finish, rowOf } = queue
after(queue.close)
afterEach(queue.clear)

test('a worker that the network cuts off stops before its lease ends, writes nothing late, and works again later', async (t) => {
  const proxy = await postgresProxy(url)
  const far = openDb(proxy.url, { pool_max: 4, statement_seconds: 3 })
  t.after(async () => {
    await far.close()
    await proxy.close()
  })
  const begun = Promise.withResolvers<Row>()
  const stopped = Promise.withResolvers<Date>()
  const again = Promise.withResolvers<Row>()
  work({
    db: far.db,
    concurrency: 1,
    async run(row, signal) {
      if (row.id === 'later') {
        again.resolve(row)
        return finish(row)
      }
      begun.resolve(row)
      await once(signal, 'abort')
      stopped.resolve(new Date())
      throw signal.reason
    },
  })
  await add('cut')
  const row = await begun.promise
  proxy.stall()
  const stopped_at = await stopped.promise
  const { rows } = await pool.query('select claim_id, claimed_until > $1 as leased from queue_rows', [stopped_at])
  assert.deepEqual(rows, [{ claim_id: row.claim_id, leased: true }])
  // Its lease ends, and another worker takes the row.
  await pool.query(`update queue_rows set claimed_until = now() - interval '1 second'`)
  await claims.releaseExpired(queue.db)
  await claims.claim(queue.db, { claim_id: 'another', now: new Date(Date.now() + 1000), limit: 1 })
  proxy.restore()
  await add('later')
  await again.promise
  assert.equal((await rowOf('cut')).claim_id, 'another')
})
