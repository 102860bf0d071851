import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { isDatabaseDown, isUniqueViolation, openDb } from '../../server/platform/db/db.ts'
import { testDatabase } from '../support/data/postgres.ts'

declare module '../../server/platform/db/db.ts' {
  interface Database {
    db_test_things: { id: number; amount: bigint }
  }
}

const { db, url, pool, truncateAll, close } = await testDatabase()
after(close)
await sql`create table db_test_things (id integer primary key, amount bigint not null)`.execute(db)

test('int8 and whole numeric are bigint to the last digit, alone, in sums and in arrays', async () => {
  await db
    .insertInto('db_test_things')
    .values([
      { id: 1, amount: 9007199254740993n },
      { id: 2, amount: 9223372036854775807n },
    ])
    .execute()
  const rows = await db.selectFrom('db_test_things').selectAll().orderBy('id').execute()
  assert.deepEqual(rows, [
    { id: 1, amount: 9007199254740993n },
    { id: 2, amount: 9223372036854775807n },
  ])
  const { rows: sums } =
    await sql`select sum(amount), array_agg(amount order by id) as list, array[null::int8] as gap, '{}'::int8[] as none
    from db_test_things`.execute(db)
  assert.deepEqual(sums, [
    { sum: 9232379236109516800n, list: [9007199254740993n, 9223372036854775807n], gap: [null], none: [] },
  ])
})

test('a numeric with a fraction is refused, not rounded, and the connection goes on', async () => {
  await assert.rejects(pool.query('select 1.5::numeric as x'), SyntaxError)
  assert.deepEqual((await pool.query('select 2::numeric as x')).rows, [{ x: 2n }])
})

test('a unique violation is recognized by its constraint', async () => {
  await truncateAll()
  await db.insertInto('db_test_things').values({ id: 1, amount: 1n }).execute()
  const error: unknown = await db
    .insertInto('db_test_things')
    .values({ id: 1, amount: 2n })
    .execute()
    .catch((e: unknown) => e)
  assert.ok(isUniqueViolation(error))
  assert.ok(isUniqueViolation(error, 'db_test_things_pkey'))
  assert.ok(!isUniqueViolation(error, 'another'))
  assert.ok(!isDatabaseDown(error))
})

test('a statement with a name is prepared once for each connection, and survives a migration of its table', async () => {
  await truncateAll()
  const one = openDb(url, { pool_max: 1 })
  const add = (id: number) =>
    sql<{ id: number }>`-- prepared as add_thing
      insert into db_test_things (id, amount) values (${id}, 1) returning id`.execute(one.db)
  for (const id of [1, 2]) assert.deepEqual((await add(id)).rows, [{ id }])
  await one.db.transaction().execute(async () => {})
  const { rows } = await one.pool.query('select name, from_sql from pg_prepared_statements')
  assert.deepEqual(rows, [{ name: 'add_thing', from_sql: false }])
  await sql`alter table db_test_things add column note text`.execute(db)
  assert.deepEqual((await add(3)).rows, [{ id: 3 }])
  await sql`alter table db_test_things drop column note`.execute(db)
  await one.close()
})

test('a backend killed under a query is "database down"; the pool goes on with a new connection', async () => {
  const errors: Error[] = []
  const victim = openDb(url, { pool_max: 1, on_error: (error) => errors.push(error) })
  const { rows } = await victim.pool.query<{ pid: number }>('select pg_backend_pid() as pid')
  const sleeping = victim.pool.query('select pg_sleep(60)').catch((e: unknown) => e)
  const kill = sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity where pid = ${rows[0]!.pid} and query like '%pg_sleep%'`
  while ((await kill.execute(db)).rows.length === 0);
  assert.ok(isDatabaseDown(await sleeping))
  assert.equal((await victim.pool.query('select 1 as one')).rowCount, 1)
  await victim.close()
})

test('a missing server is "database down"', async () => {
  const nowhere = openDb('postgres://nobody@127.0.0.1:1/none')
  assert.ok(isDatabaseDown(await nowhere.pool.query('select 1').catch((e: unknown) => e)))
  const noSocket = openDb('postgres://nobody@localhost/none?host=%2Fnowhere')
  assert.ok(isDatabaseDown(await noSocket.pool.query('select 1').catch((e: unknown) => e)))
  await Promise.all([nowhere.close(), noSocket.close()])
})

test('closing resolves once the server has seen every connection off, so that stopping it next cuts none', async () => {
  const errors: Error[] = []
  const other = openDb(url, { pool_max: 8, on_error: (error) => errors.push(error) })
  const pids = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid, pg_sleep(0.02)`.execute(other.db)
      return rows[0]!.pid
    }),
  )
  assert.equal(new Set(pids).size, 8)
  await other.close()
  const { rows } = await sql`select pid from pg_stat_activity where pid = any(${pids}::int[])`.execute(db)
  assert.deepEqual(rows, [])
  assert.deepEqual(errors, [])
})

test('every commit is on the disk when it returns, also where the database or its role defaults to an asynchronous one', async () => {
  const name = new URL(url).pathname.slice(1)
  await pool.query(`alter database ${name} set synchronous_commit = off`)
  const other = openDb(url, { pool_max: 3 })
  try {
    const clients = await Promise.all([other.pool.connect(), other.pool.connect(), other.pool.connect()])
    const settings = await Promise.all(clients.map((client) => client.query('show synchronous_commit')))
    for (const client of clients) client.release()
    for (const { rows } of settings) assert.deepEqual(rows, [{ synchronous_commit: 'on' }])
  } finally {
    await other.close()
    await pool.query(`alter database ${name} reset synchronous_commit`)
  }
})
