import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { databaseClientOptions, newClient } from '../../server/platform/db/client-options.ts'
import { isDatabaseDown, openDb } from '../../server/platform/db/db.ts'
import { testDatabase } from '../support/data/postgres.ts'
import { listen } from '../support/listen.ts'
import { dialPostgres, postgresProxy } from '../support/upstream/postgres-proxy.ts'

const database = await testDatabase()
after(database.close)

test('a statement whose connection was cut off by the network fails as when the database is down, and the next one works', async (t) => {
  const proxy = await postgresProxy(database.url)
  const { db, close } = openDb(proxy.url, { pool_max: 2, statement_seconds: 0.5 })
  t.after(async () => {
    await close()
    await proxy.close()
  })
  await sql`select 1`.execute(db)
  proxy.stall()
  const transaction = db.transaction().execute(async (tx) => {
    await sql`select 1`.execute(tx)
  })
  await assert.rejects(transaction, isDatabaseDown)
  proxy.restore()
  assert.deepEqual((await sql`select 1 as n`.execute(db)).rows, [{ n: 1 }])
})

test('a statement that was answered in time is not lost because this process was blocked for longer', async (t) => {
  const { db, close } = openDb(database.url, { pool_max: 1, statement_seconds: 0.5 })
  t.after(close)
  const pid = async () => (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]!.pid
  const before = await pid()
  const { promise: sent, resolve } = Promise.withResolvers<void>()
  const again = db.connection().execute((one) => {
    const answer = sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(one)
    setImmediate(resolve)
    return answer
  })
  await sent
  block(2500)
  assert.equal((await again).rows[0]!.pid, before)
})

test('a statement that may take long is waited for', async (t) => {
  const { db, close } = openDb(database.url, { statement_seconds: 0.01 })
  t.after(close)
  const long = sql`-- takes long
    select pg_sleep(2)`.execute(db)
  const short = sql`select pg_sleep(10)`.execute(db)
  await assert.rejects(short, isDatabaseDown)
  await long
})

test('a server that became read-only counts as down, and every connection to it is replaced', async (t) => {
  const { db, pool, close } = openDb(database.url, { pool_max: 3 })
  t.after(close)
  const busy = await pool.connect()
  const pid = async () => (await busy.query('select pg_backend_pid() as pid')).rows[0].pid
  const old = await pid()
  await sql`create table written (n int)`.execute(db)
  const setTo = (state: string) =>
    database.pool.query(
      `do $$ begin execute format('alter database %I set default_transaction_read_only = ${state}', current_database()); end $$`,
    )
  await setTo('on')
  // What a server that was made a standby answers on connections of before.
  await sql`set default_transaction_read_only = on`.execute(db)
  await assert.rejects(sql`insert into written values (1)`.execute(db), isDatabaseDown)
  await assert.rejects(pool.query('select 1'), isDatabaseDown, 'no connection to it is used')
  const ended = once(pool, 'remove')
  assert.equal(await pid(), old, 'whoever holds one is not cut off')
  busy.release()
  await ended
  await setTo('off')
  await sql`insert into written values (2)`.execute(db)
  assert.deepEqual((await sql`select n from written`.execute(db)).rows, [{ n: 2 }])
})

test('a connection to the database that is reset counts as down, with or without a statement; any other socket does not', async (t) => {
  const peers = new Set<Socket>()
  const server = createServer((peer) => void peers.add(peer.on('error', () => {})))
  const port = await listen(server)
  t.after(() => server.close())
  const reset = async (failing: Promise<unknown>): Promise<unknown> => {
    if (peers.size === 0) await once(server, 'connection')
    for (const peer of peers) peer.resetAndDestroy()
    peers.clear()
    const error = await failing.then(
      () => assert.fail('nothing failed'),
      (thrown: unknown) => thrown,
    )
    assert.equal((error as NodeJS.ErrnoException).code, 'ECONNRESET')
    return error
  }
  const url = `postgres://nobody@127.0.0.1:${port}/none`
  const { pool, close } = openDb(url)
  t.after(close)
  assert.ok(isDatabaseDown(await reset(pool.query('select 1'))))
  assert.ok(isDatabaseDown(await reset(newClient(databaseClientOptions(url)).connect())))
  assert.ok(!isDatabaseDown(await reset(once(connect(port, '127.0.0.1'), 'data'))))
})

test('a statement whose connection is reset fails as when the database is down', async (t) => {
  const sockets: Socket[] = []
  const relay = createServer((near) => {
    sockets.push(near)
    const far = dialPostgres(database.url)
    near
      .on('error', () => {})
      .pipe(far)
      .on('error', () => {})
      .pipe(near)
  })
  const url = new URL(database.url)
  for (const name of ['host', 'port']) url.searchParams.delete(name)
  url.host = `127.0.0.1:${await listen(relay)}`
  const { db, close } = openDb(url.href, { pool_max: 1 })
  t.after(async () => {
    await close()
    relay.close()
  })
  await sql`select 1`.execute(db)
  const sleeping = sql`select pg_sleep(60)`.execute(db)
  sockets[0]!.once('data', () => sockets[0]!.resetAndDestroy())
  await assert.rejects(
    sleeping,
    (error) => (error as NodeJS.ErrnoException).code === 'ECONNRESET' && isDatabaseDown(error),
  )
})

/** Keeps the event loop from turning. */
function block(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}
