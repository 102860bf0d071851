import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { sql } from 'kysely'
import { collector, openTestQueue, type Row } from './rows.ts'

const queue = await openTestQueue()
const { db, pool, work, add, finish } = queue
after(queue.close)
afterEach(queue.clear)

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

test('rows that are stuck while every slot is taken do not delay rows that are being worked on', async () => {
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
