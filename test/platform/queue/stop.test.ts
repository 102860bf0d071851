import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, afterEach, test } from 'node:test'
import { collector, openTestQueue } from './rows.ts'

const queue = await openTestQueue()
const { pool, claims, work, add, finish, rowOf } = queue
after(queue.close)
afterEach(queue.clear)

test('stop lets short work finish, aborts long work, and releases work that does not end or has not begun', async () => {
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
