import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { listen } from '../../server/platform/db/notify.ts'
import { testDatabase } from '../support/data/postgres.ts'

const { pool, url, close } = await testDatabase()
after(close)

test('every channel hears its own payloads, over one connection', async () => {
  const heard: string[] = []
  const enough = Promise.withResolvers<void>()
  const note = (text: string) => heard.push(text) === 3 && enough.resolve()
  const onReconnect = () => assert.fail('was never disconnected')
  const keys = await listen(url, 'keys', (payload) => note(`keys ${payload}`), { onReconnect })
  const jobs = await listen(url, 'Odd "channel"', (payload) => note(`jobs ${payload}`), { onReconnect })
  await pool.query(
    `select pg_notify('keys', 'a'), pg_notify('Odd "channel"', 'b'), pg_notify('other', 'c'), pg_notify('keys', '')`,
  )
  await enough.promise
  assert.deepEqual(heard, ['keys a', 'jobs b', 'keys '])
  assert.equal(await listeners(), 1)
  await keys.close()
  await jobs.close()
  await untilNobodyListens()
})

test('a connection that is killed comes back, says so, and hears again', async () => {
  const reconnected = Promise.withResolvers<void>()
  const heard = Promise.withResolvers<string>()
  const listening = await listen(url, 'keys', heard.resolve, { onReconnect: reconnected.resolve })
  await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${IS_LISTENER}`)
  await reconnected.promise
  await pool.query(`select pg_notify('keys', 'after')`)
  assert.equal(await heard.promise, 'after')
  await listening.close()
})

test('a listener can be closed while the database is away', async () => {
  const listening = await listen(url, 'keys', () => {}, { onReconnect() {} })
  await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${IS_LISTENER}`)
  await listening.close()
  await untilNobodyListens()
})

const IS_LISTENER = `application_name = 'kinora listen' and datname = current_database()`

async function listeners(): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity where ${IS_LISTENER}`,
  )
  return rows[0]!.n
}

/** Backends end a moment after their clients. */
async function untilNobodyListens(): Promise<void> {
  while ((await listeners()) > 0);
}
