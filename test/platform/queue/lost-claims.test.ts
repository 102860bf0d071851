import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, afterEach, test } from 'node:test'
import { LEASE_SECONDS } from '../../../server/platform/queue/claims.ts'
import { collector, openTestQueue, type Row } from './rows.ts'

const queue = await openTestQueue()
const { db, pool, changes, claims, work, add, finish, rowOf } = queue
after(queue.close)
afterEach(queue.clear)

test('the claims of a killed worker are released at once if no other can be running, else when their lease expires', async () => {
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

test('a claim whose answer has not arrived yet is not mistaken for an orphan', async () => {
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
        // The connection that listens was made again.
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
