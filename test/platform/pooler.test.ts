import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { type LockMode, lockDatabase } from '../../server/platform/db/database-lock.ts'
import { type Db, isDatabaseDown, openDb, outageOf } from '../../server/platform/db/db.ts'
import { listen } from '../../server/platform/db/listen-connection.ts'
import { requireUsable } from '../../server/platform/db/usable.ts'
import { newId } from '../../server/platform/ids.ts'
import { runKinora } from '../support/command.ts'
import { testDatabase } from '../support/data/postgres.ts'
import { postgresPooler } from '../support/upstream/postgres-pooler.ts'

const database = await testDatabase()
const dir = mkdtempSync(join(tmpdir(), 'kinora-pooler-'))
after(async () => {
  await database.close()
  rmSync(dir, { recursive: true, force: true })
})

for (const in_turn of [false, true]) {
  test(`a pooler whose clients share sessions is refused at the start, in one sentence${in_turn ? ', one that takes its servers in turn too' : ''}`, async (t) => {
    const pooler = await postgresPooler(database.url, { in_turn })
    t.after(pooler.close)
    const env = { DATABASE_URL: pooler.url, KINORA_DATA_DIR: dir }
    pooler.setMode('transaction')
    const refused = await runKinora(['migrate'], { env, cwd: dir })
    assert.equal(refused.code, 1)
    assert.match(
      refused.stderr,
      /DATABASE_URL leads to a connection pooler .* Set pool_mode = session, or name PostgreSQL itself\.\n$/,
    )
    pooler.setMode('session')
    const taken = await runKinora(['migrate'], { env, cwd: dir })
    assert.equal(taken.code, 0, taken.stderr)
  })
}

test('statements that fail because sessions are shared fail as when the database is down', async (t) => {
  const pooler = await postgresPooler(database.url)
  const { db, close } = openDb(pooler.url, { pool_max: 3 })
  t.after(async () => {
    await close()
    await pooler.close()
  })
  pooler.setMode('transaction')
  const prepared = (connection: Db) =>
    sql`-- prepared as shared_sessions
      select 1 as n`.execute(connection)
  const twice = db.connection().execute(async (first) => {
    await prepared(first)
    return db.connection().execute(prepared)
  })
  await assert.rejects(twice, (error) => isDatabaseDown(error) && outageOf(error) === 'sessions_shared')
})

test('a running service notices that its pooler shares sessions, and that it no longer does', async (t) => {
  const pooler = await postgresPooler(database.url)
  const { db, close } = openDb(pooler.url, { pool_max: 3 })
  t.after(async () => {
    await close()
    await pooler.close()
  })
  await requireUsable(db)
  pooler.setMode('transaction')
  await assert.rejects(requireUsable(db), (error) => outageOf(error) === 'sessions_shared')
  pooler.setMode('session')
  await requireUsable(db)
})

test('nothing listens on a connection whose session others use, until it is its own', async (t) => {
  const pooler = await postgresPooler(database.url)
  t.after(pooler.close)
  pooler.setMode('transaction')
  const failed = Promise.withResolvers<unknown>()
  const opened = listen({
    url: pooler.url,
    channels: ['kinora_test'],
    onPayload() {},
    onReconnect() {},
    on_error: failed.resolve,
    on_recovered() {},
  })
  assert.equal(outageOf(await failed.promise), 'sessions_shared')
  pooler.setMode('session')
  await (await opened).close()
})

test('a node whose connections begin to share sessions does not take its own lock for that of another service', async (t) => {
  const pooler = await postgresPooler(database.url)
  t.after(pooler.close)
  const lost = Promise.withResolvers<unknown>()
  const back = Promise.withResolvers<void>()
  const taken: LockMode[] = []
  const lock = await lockDatabase(pooler.url, {
    mode: 'alone',
    node: newId('node'),
    refusal: (held) => held,
    on_taken: (held) => taken.push(held),
    on_error: lost.resolve,
    on_recovered: back.resolve,
  })
  t.after(lock.release)
  pooler.setMode('transaction')
  // The server ends the session that has the lock, as a failover does, and the node connects again.
  await database.pool.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  assert.equal(outageOf(await lost.promise), 'sessions_shared')
  pooler.setMode('session')
  await back.promise
  assert.deepEqual(taken, [])
})
