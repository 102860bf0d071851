import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { listen } from '../../server/platform/db/listen-connection.ts'
import { testDatabase } from '../support/data/postgres.ts'
import { postgresProxy } from '../support/upstream/postgres-proxy.ts'

const { pool, url, close } = await testDatabase()
after(close)

test('payloads of every channel arrive over one connection, with their channel', async () => {
  const received: string[] = []
  const enough = Promise.withResolvers<void>()
  const listening = await listen({
    url,
    channels: ['keys', 'Odd "channel"'],
    onPayload: (payload, channel) => received.push(`${channel} ${payload}`) === 3 && enough.resolve(),
    onReconnect: () => assert.fail('was never disconnected'),
  })
  await pool.query(
    `select pg_notify('keys', 'a'), pg_notify('Odd "channel"', 'b'), pg_notify('other', 'c'), pg_notify('keys', '')`,
  )
  await enough.promise
  assert.deepEqual(received, ['keys a', 'Odd "channel" b', 'keys '])
  assert.equal(await listeners(), 1)
  await listening.close()
  await untilNobodyListens()
})

test('a connection that is killed comes back, calls onReconnect, and receives again', async () => {
  const reconnected = Promise.withResolvers<void>()
  const received = Promise.withResolvers<string>()
  const onPayload = received.resolve
  const listening = await listen({ url, channels: ['keys'], onPayload, onReconnect: reconnected.resolve })
  await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${IS_LISTENER}`)
  await reconnected.promise
  await pool.query(`select pg_notify('keys', 'after')`)
  assert.equal(await received.promise, 'after')
  await listening.close()
})

test('a listener can be closed while the database is away', async () => {
  const listening = await listen({ url, channels: ['keys'], onPayload: () => {}, onReconnect: () => {} })
  await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${IS_LISTENER}`)
  await listening.close()
  await untilNobodyListens()
})

test('an outage is reported once with its reason, at the start too, and its end as well', async () => {
  const proxy = await postgresProxy(url)
  const seen: string[] = []
  const [failed, back] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let refusals = 2
  const listening = await listen({
    url: proxy.url,
    channels: ['keys'],
    onPayload: () => {},
    async onConnect(client) {
      if (refusals-- > 0) await client.query('select from missing')
    },
    onReconnect: back.resolve,
    on_error(error) {
      seen.push((error as Error & { code: string }).code)
      if (seen.length === 3) failed.resolve()
    },
    on_recovered: () => seen.push('back'),
  })
  assert.deepEqual(seen, ['42P01', 'back'])
  proxy.cut()
  await failed.promise
  const before = proxy.refused()
  while (proxy.refused() < before + 2) await pause(5)
  proxy.restore()
  await back.promise
  assert.equal(seen.length, 4)
  assert.equal(seen[3], 'back')
  await listening.close()
  await proxy.close()
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
