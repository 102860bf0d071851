import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { openDb } from '../../server/platform/db/db.ts'
import { migrate } from '../../server/platform/db/migrate.ts'
import { testDatabase } from '../support/data/postgres.ts'
import { tempDir } from '../support/service.ts'

const { pool, url, close } = await testDatabase()
const temp = tempDir()
const dir = join(temp.path, 'migrations')
after(close)
after(temp.remove)
beforeEach(async () => {
  await pool.query('drop schema public cascade; create schema public')
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir)
  write('0001-first', 'create table first (x int);')
  write('0002-second', 'create table first_key (x int primary key); insert into first values (1);')
  write('0003-third', 'insert into first values (3);')
})

test('migrations run once each, in order of number', async () => {
  assert.deepEqual(await migrate(pool, dir), ['0001-first', '0002-second', '0003-third'])
  assert.deepEqual(await migrate(pool, dir), [])
  write('0010-tenth', 'insert into first values (10);')
  assert.deepEqual(await migrate(pool, dir), ['0010-tenth'])
  assert.deepEqual(await values(), [1, 3, 10])
})

test('processes that start together migrate once', async () => {
  const others = Array.from({ length: 5 }, () => openDb(url))
  const applied = await Promise.all(others.map((each) => migrate(each.pool, dir)))
  assert.equal(applied.flat().length, 3)
  assert.deepEqual(await values(), [1, 3])
  await Promise.all(others.map((each) => each.close()))
})

test('a migration that fails leaves nothing of itself, keeps those before it, and is tried again', async () => {
  write('0003-third', 'insert into first values (3); select 1 / 0;')
  await assert.rejects(migrate(pool, dir), {
    name: 'StartError',
    message: /0003-third failed and changed nothing: division by zero/,
  })
  assert.deepEqual(await values(), [1])
  write('0003-third', 'insert into first values (33);')
  assert.deepEqual(await migrate(pool, dir), ['0003-third'])
  assert.deepEqual(await values(), [1, 33])
})

test('a shipped migration that was edited is refused', async () => {
  await migrate(pool, dir)
  write('0002-second', 'create table first_key (x int primary key);')
  await assert.rejects(migrate(pool, dir), {
    name: 'StartError',
    message: /0002-second was changed after it was applied/,
  })
})

test('a database newer than the code is refused, untouched', async () => {
  await migrate(pool, dir)
  rmSync(join(dir, '0003-third.sql'))
  await assert.rejects(migrate(pool, dir), { name: 'StartError', message: /newer than this version.*0003-third/ })
})

test('a missing migration, one slipped in before an applied one, a number used twice and an odd name are refused', async () => {
  await migrate(pool, dir)
  rmSync(join(dir, '0002-second.sql'))
  await assert.rejects(migrate(pool, dir), /0002-second is applied, but its file is missing/)
  write('0002-second', 'create table first_key (x int primary key); insert into first values (1);')
  rmSync(join(dir, '0001-first.sql'))
  write('0000-zeroth', 'select 1;')
  await assert.rejects(migrate(pool, dir), /0000-zeroth comes before 0001-first/)
  write('0003-again', 'select 1;')
  await assert.rejects(migrate(pool, dir), /the number 3/)
  write('next', 'select 1;')
  await assert.rejects(migrate(pool, dir), /NNNN-name.sql, not next.sql/)
})

test('a migration waits for a table in short tries, so that requests go on, and ends in words when it is never had', async () => {
  await migrate(pool, dir)
  write('0004-fourth', 'alter table first add column y int;')
  const [holder, reader] = [await pool.connect(), openDb(url)]
  await holder.query('begin; select from first')
  await assert.rejects(migrate(pool, dir, { patience_seconds: 0 }), {
    name: 'StartError',
    message: /0004-fourth changed nothing.*other transactions held what it changes.*pg_stat_activity/,
  })
  const migrated = migrate(pool, dir)
  // It queues behind the holder, and is out of the way a second later.
  while (!(await isWaiting())) {}
  assert.equal((await reader.pool.query('select x from first')).rowCount, 2)
  await holder.query('commit')
  assert.deepEqual(await migrated, ['0004-fourth'])
  holder.release()
  await reader.close()
})

test('a migration without a transaction makes an index while rows are written, and is tried again from its beginning', async () => {
  await migrate(pool, dir)
  const index = (x: string) =>
    `-- no transaction\ndrop index concurrently if exists first_x;\ncreate index concurrently first_x on first (${x});\n`
  write('0004-index', index('(1 / (x - 1))'))
  await assert.rejects(migrate(pool, dir), { name: 'StartError', message: /0004-index failed: division by zero/ })
  write('0004-index', index('x'))
  const writer = await pool.connect()
  await writer.query('begin; insert into first values (7)')
  const migrated = migrate(pool, dir)
  while (!(await isWaiting())) {}
  assert.equal((await pool.query('insert into first values (8)')).rowCount, 1)
  await writer.query('commit')
  writer.release()
  assert.deepEqual(await migrated, ['0004-index'])
  const { rows } = await pool.query("select indisvalid from pg_index where indexrelid = 'first_x'::regclass")
  assert.deepEqual(rows, [{ indisvalid: true }])
})

/** Whether a statement waits for a lock of another's. */
async function isWaiting(): Promise<boolean> {
  const { rows } = await pool.query(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  )
  return rows.length > 0
}

function write(name: string, text: string): void {
  writeFileSync(join(dir, `${name}.sql`), text)
}

async function values(): Promise<number[]> {
  const { rows } = await pool.query<{ x: number }>('select x from first order by x')
  return rows.map((row) => row.x)
}
