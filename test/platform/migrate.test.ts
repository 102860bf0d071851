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

function write(name: string, text: string): void {
  writeFileSync(join(dir, `${name}.sql`), text)
}

async function values(): Promise<number[]> {
  const { rows } = await pool.query<{ x: number }>('select x from first order by x')
  return rows.map((row) => row.x)
}
