import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { MIGRATIONS_DIR, migrate } from '../../server/platform/migrate.ts'
import { testDatabase } from '../support/postgres.ts'
import { tempDir } from '../support/service.ts'

const { pool, close } = await testDatabase()
const temp = tempDir()
after(close)
after(temp.remove)

const NUMBER = 15

test('organizations that had one name keep it apart when names become unique, and the oldest keeps it whole', async () => {
  const before = join(temp.path, 'before')
  mkdirSync(before)
  for (const file of readdirSync(MIGRATIONS_DIR)) {
    if (Number(file.slice(0, 4)) < NUMBER) copyFileSync(join(MIGRATIONS_DIR, file), join(before, file))
  }
  await pool.query('drop schema public cascade; create schema public')
  await migrate(pool, before)
  const long = 'x'.repeat(5000)
  const names = [
    ['org_1', 'Acme'],
    ['org_2', 'Acme'],
    ['org_3', 'Rival'],
    ['org_4', 'Acme'],
    // Exactly what org_2 would be called.
    ['org_5', 'Acme (org_2)'],
    ['org_6', long],
    ['org_7', long],
  ]
  for (const [id, name] of names) {
    const row = 'insert into organizations (id, name, slug, plan, created_at) values ($1, $2, $1, $3, now())'
    await pool.query(row, [id, name, 'free'])
  }
  await migrate(pool)
  const { rows } = await pool.query<{ id: string; name: string }>('select id, name from organizations order by id')
  const found = Object.fromEntries(rows.map(({ id, name }) => [id, name]))
  assert.equal(new Set(Object.values(found)).size, names.length)
  assert.deepEqual([found.org_1, found.org_3], ['Acme', 'Rival'])
  for (const id of ['org_2', 'org_4']) assert.ok(found[id]!.startsWith(`Acme (${id})`), found[id])
  const twin =
    "insert into organizations (id, name, slug, plan, created_at) values ('org_8', 'Rival', 'org_8', 'free', now())"
  await assert.rejects(pool.query(twin), { code: '23505', constraint: 'organizations_name' })
})
