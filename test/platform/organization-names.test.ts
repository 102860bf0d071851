import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createOrganization } from '../../server/identity/people/provision.ts'
import { isOrganizationNameTaken } from '../../server/identity/people/store.ts'
import { MIGRATIONS_DIR, migrate } from '../../server/platform/db/migrate.ts'
import { testDatabase } from '../support/data/postgres.ts'
import { tempDir } from '../support/service.ts'

const { db, pool, close } = await testDatabase()
const temp = tempDir()
after(close)
after(temp.remove)

/** A database as it was before the migration `number`, with organizations of these ids and names. */
async function organizationsBefore(number: number, names: ReadonlyArray<readonly [string, string]>): Promise<void> {
  const before = join(temp.path, `before-${number}`)
  mkdirSync(before)
  for (const file of readdirSync(MIGRATIONS_DIR)) {
    if (Number(file.slice(0, 4)) < number) copyFileSync(join(MIGRATIONS_DIR, file), join(before, file))
  }
  await pool.query('drop schema public cascade; create schema public')
  await migrate(pool, before)
  for (const [id, name] of names) {
    const row = 'insert into organizations (id, name, slug, plan, created_at) values ($1, $2, $1, $3, now())'
    await pool.query(row, [id, name, 'free'])
  }
}

test('organizations that had one name stay distinct when names become unique, and the oldest keeps it whole', async () => {
  const long = 'x'.repeat(5000)
  const names: Array<[string, string]> = [
    ['org_1', 'Acme'],
    ['org_2', 'Acme'],
    ['org_3', 'Rival'],
    ['org_4', 'Acme'],
    // Exactly what org_2 would be called.
    ['org_5', 'Acme (org_2)'],
    ['org_6', long],
    ['org_7', long],
  ]
  await organizationsBefore(15, names)
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

test('organizations whose names differ by case alone keep them, and no new one takes such a name', async () => {
  const names: Array<[string, string]> = [
    ['org_1', 'Default'],
    ['org_2', 'default'],
    ['org_3', 'DEFAULT'],
    ['org_4', 'Studio'],
  ]
  await organizationsBefore(21, names)
  await migrate(pool)
  const { rows } = await pool.query<{ id: string; name: string }>('select id, name from organizations order by id')
  assert.deepEqual(
    rows.map(({ id, name }) => [id, name]),
    names,
  )
  const create = (name: string) =>
    db.transaction().execute((tx) => createOrganization(tx, { name, plan: 'free', now: new Date() }))
  for (const name of ['deFault', 'default', 'STUDIO', 'Studio']) {
    await assert.rejects(create(name), (error) => isOrganizationNameTaken(error), name)
  }
  await create('Écran')
  await assert.rejects(create('éCRAN'), (error) => isOrganizationNameTaken(error))
  const made = await Promise.allSettled(['Race', 'rAce', 'raCe', 'racE'].map(create))
  assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 1)
})
