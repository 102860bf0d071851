import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { openHealth } from '../../server/health.ts'
import { type Blobs, BlobsAway, DiskFull } from '../../server/platform/blobs/blobs.ts'
import { diskBlobs } from '../../server/platform/blobs/disk.ts'
import { handMovedClock } from '../../server/platform/clock.ts'
import { openDb } from '../../server/platform/db/db.ts'
import { startApp, type TestApp } from '../support/http/app.ts'
import { send } from '../support/http/send.ts'
import { postgresPooler } from '../support/upstream/postgres-pooler.ts'
import { type PostgresProxy, postgresProxy } from '../support/upstream/postgres-proxy.ts'

const OK = { status: 'ok', database: 'ok', storage: 'ok' }

let app: TestApp
let proxy: PostgresProxy
let dir: string
let database: ReturnType<typeof openDb>
before(async () => {
  app = await startApp()
  proxy = await postgresProxy(app.database.url)
  dir = mkdtempSync(join(tmpdir(), 'kinora-health-'))
})
after(async () => {
  proxy.cut()
  await database.close()
  await proxy.close()
  await app.close()
  rmSync(dir, { recursive: true, force: true })
})
beforeEach(async () => {
  proxy.cut()
  await database?.close()
  proxy.restore()
  database = openDb(proxy.url, { pool_max: 2 })
})

/** A blob store whose next writes fail with `error`, or never end when it is `never`. */
function faultyBlobs() {
  const fault: { error: Error | 'never' | null; writes: number } = { error: null, writes: 0 }
  const real = diskBlobs(dir)
  const stage: Blobs['stage'] = async (source, options) => {
    fault.writes += 1
    if (fault.error === 'never') return new Promise(() => {})
    if (fault.error) throw fault.error
    return real.stage(source, options)
  }
  return { fault, blobs: { ...real, stage } }
}

test('200 while database and storage work, without a key and without further details', async () => {
  const { status, body } = await send(app, 'GET', '/healthz')
  assert.equal(status, 200)
  assert.deepEqual(body, OK)
})

test('unready, and alive, with the reason while the storage is full or cannot be written; ready again when it can', async () => {
  const stage = app.ctx.blobs.stage
  try {
    for (const [error, storage] of [
      [new DiskFull('no space left for files'), 'full'],
      [new Error('read-only file system'), 'unwritable'],
    ] as const) {
      app.ctx.blobs.stage = async () => {
        throw error
      }
      app.clock.advance(2)
      const { status, body, headers } = await send(app, 'GET', '/readyz')
      assert.equal(status, 503)
      const audit = { ok: true, checked_at: null }
      assert.deepEqual(body, { status: 'failing', reason: 'storage', database: 'ok', storage, audit })
      assert.equal(headers.get('cache-control'), 'no-store')
      const alive = await send(app, 'GET', '/healthz')
      assert.deepEqual([alive.status, alive.body], [200, { status: 'ok', database: 'ok', storage }])
    }
  } finally {
    app.ctx.blobs.stage = stage
  }
  app.clock.advance(2)
  const { status, body } = await send(app, 'GET', '/readyz')
  assert.deepEqual([status, body.status, body.reason], [200, 'ok', null])
})

test('ready while the bucket does not answer, or hangs, since every node has the same one', async () => {
  const { check } = app.ctx.blobs
  try {
    app.ctx.blobs.check = () => Promise.reject(new BlobsAway('HeadBucket: 503'))
    app.clock.advance(2)
    const { status, body } = await send(app, 'GET', '/readyz')
    assert.deepEqual([status, body.status, body.reason, body.storage], [200, 'ok', null, 'away'])
  } finally {
    app.ctx.blobs.check = check
  }
  // Nothing is written, so a slow disk is not what the limit finds.
  const written = { stage: async () => undefined as never, discard: async () => {} }
  const hanging: Blobs = { ...diskBlobs(dir), ...written, check: () => new Promise(() => {}) }
  const health = openHealth({ ...database, clock: handMovedClock(), blobs: hanging, limit_ms: 50 })
  assert.equal((await health()).storage, 'away')
})

test('a check names the database when it is gone, and is clean again when it is back', async () => {
  const clock = handMovedClock()
  const check = openHealth({ ...database, clock, blobs: diskBlobs(dir) })
  assert.deepEqual(await check(), OK)
  proxy.cut()
  clock.advance(2)
  assert.deepEqual(await check(), { status: 'failing', database: 'unreachable', storage: 'ok' })
  proxy.restore()
  clock.advance(2)
  assert.deepEqual(await check(), OK)
})

/** What PostgreSQL answers where the check fills its temporary file. */
const FULL_DISK = `create schema full_disk;
  create function full_disk.generate_series(int, int) returns setof int language plpgsql as $$
    begin raise exception 'could not write to file: No space left on device' using errcode = 'disk_full'; end $$`

test('a check says that the database is read-only, that its disk is full, or that its sessions are shared', async () => {
  const clock = handMovedClock()
  const check = openHealth({ ...database, clock, blobs: diskBlobs(dir) })
  const pooler = await postgresPooler(app.database.url)
  const pooled = openDb(pooler.url, { pool_max: 2 })
  const shared = openHealth({ ...pooled, clock, blobs: diskBlobs(dir) })
  try {
    await sql`set default_transaction_read_only = on`.execute(database.db)
    assert.deepEqual(await check(), { status: 'failing', database: 'read_only', storage: 'ok' })
    await sql`set default_transaction_read_only = off`.execute(database.db)
    clock.advance(2)
    await app.database.pool.query(FULL_DISK)
    await sql`set search_path = full_disk, pg_catalog, public`.execute(database.db)
    assert.deepEqual(await check(), { status: 'failing', database: 'full', storage: 'ok' })
    pooler.setMode('transaction')
    assert.deepEqual(await shared(), { status: 'failing', database: 'sessions_shared', storage: 'ok' })
  } finally {
    await pooled.close()
    await pooler.close()
  }
})

test('requests of one second share one check, so that asking often costs nothing', async () => {
  const clock = handMovedClock()
  const { fault, blobs } = faultyBlobs()
  const check = openHealth({ ...database, clock, blobs })
  await Promise.all(Array.from({ length: 50 }, check))
  await check()
  assert.equal(fault.writes, 1)
  clock.advance(1)
  await check()
  assert.equal(fault.writes, 2)
})

test('a check that hangs has failed after its limit, is not started again meanwhile, and delays nothing', async () => {
  const clock = handMovedClock()
  const { fault, blobs } = faultyBlobs()
  const check = openHealth({ ...database, clock, blobs, limit_ms: 5 })
  await database.pool.query('select 1')
  proxy.deafen()
  fault.error = 'never'
  for (let i = 0; i < 3; i++) {
    assert.deepEqual(await check(), { status: 'failing', database: 'unreachable', storage: 'unwritable' })
    clock.advance(2)
  }
  assert.equal(fault.writes, 1)
  assert.deepEqual([database.pool.totalCount, database.pool.waitingCount], [2, 0])
})

test('a check that is late for a moment says what was found before, and has failed after three seconds', async (t) => {
  await database.pool.query('select 1')
  const clock = handMovedClock()
  const { fault, blobs } = faultyBlobs()
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const check = openHealth({ ...database, clock, blobs })
  assert.deepEqual(await check(), OK)
  proxy.deafen()
  fault.error = 'never'
  clock.advance(2)
  const late = check()
  t.mock.timers.tick(1000)
  assert.deepEqual(await late, OK)
  clock.advance(1)
  assert.deepEqual(await check(), { status: 'failing', database: 'unreachable', storage: 'unwritable' })
})

test('alive within a second although the checks hang: nothing restarts the process because its database is away', async () => {
  const { stage } = app.ctx.blobs
  app.ctx.blobs.stage = () => new Promise(() => {})
  app.clock.advance(2)
  try {
    const { status, body } = await send(app, 'GET', '/healthz')
    assert.deepEqual([status, body], [200, { status: 'ok', database: 'unreachable', storage: 'unwritable' }])
  } finally {
    app.ctx.blobs.stage = stage
  }
})

test('every check has its result after a second, whatever hangs, and at once while it goes on hanging', async (t) => {
  await database.pool.query('select 1')
  proxy.stall()
  const clock = handMovedClock()
  const never = () => new Promise<never>(() => {})
  const hanging = { ...diskBlobs(dir), stage: never, check: never }
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const check = openHealth({ ...database, clock, blobs: hanging })
  const first = check()
  t.mock.timers.tick(1000)
  const failing = { status: 'failing', database: 'unreachable', storage: 'unwritable' }
  assert.deepEqual(await Promise.race([first, nextTurn('none yet')]), failing)
  clock.advance(2)
  assert.deepEqual(await Promise.race([check(), nextTurn('none yet')]), failing)
})

test('/readyz has its answer before a statement of a database that hangs has failed, also when it was well a moment ago', async (t) => {
  const through = await startApp({ database_url: proxy.url })
  t.after(through.close)
  assert.equal((await send(through, 'GET', '/readyz')).status, 200)
  proxy.stall()
  const statement = sql`select 1`.execute(through.ctx.db).catch(() => 'statement')
  const ready = send(through, 'GET', '/readyz').then(() => 'ready')
  assert.equal(await Promise.race([ready, statement]), 'ready')
  proxy.restore()
})

test('a check leaves nothing behind in the storage', async () => {
  const blobs = diskBlobs(dir)
  await openHealth({ ...database, clock: handMovedClock(), blobs })()
  assert.equal(await blobs.sweepStaged({ older_than: new Date(Date.now() + 60_000) }), 0)
})
