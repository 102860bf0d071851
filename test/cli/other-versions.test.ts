import assert from 'node:assert/strict'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openDataDir } from '../../server/platform/data-dir.ts'
import { openDb } from '../../server/platform/db/db.ts'
import { MIGRATIONS_DIR, migrate, readMigrations } from '../../server/platform/db/migrate.ts'
import { startEmbeddedPostgres } from '../../server/platform/postgres/embedded.ts'
import { runCommand, runKinora } from '../support/command.ts'
import { dataDir, emptyDatabase } from '../support/data/data-dir.ts'
import { tempDir } from '../support/service.ts'

const temp = tempDir()
after(temp.remove)
const files = readMigrations(MIGRATIONS_DIR)
/** The migration before the latest; while there is one migration only, none. */
const OLDER = files.at(-2) ?? { number: 0, name: 'no migration' }
const LATEST = files.at(-1)!

/** Runs `use` on a database that has all migrations but the latest. `count` counts its migrations. */
async function withOlder(url: string, use: (count: () => Promise<number>) => Promise<void>): Promise<void> {
  const { pool, close } = openDb(url, { pool_max: 1 })
  try {
    await migrate(pool, MIGRATIONS_DIR, { up_to: OLDER.number })
    await use(async () => (await pool.query('select from schema_migrations')).rowCount!)
  } finally {
    await close()
  }
}

async function assertRefused(args: string[], env: NodeJS.ProcessEnv, message: RegExp): Promise<void> {
  const { code, stdout, stderr } = await runCommand(['admin', ...args], env)
  assert.deepEqual([code, stdout], [1, ''], args.join(' '))
  assert.match(stderr, message, args.join(' '))
  assert.doesNotMatch(stderr, /\n\s+at /)
}

const UPGRADE = new RegExp(`older version of Kinora.*${OLDER.name}.*${LATEST.name}.*kinora migrate`)

test('no admin command migrates an external database: one of an older version is refused with what to do', async (t) => {
  const external = await emptyDatabase()
  t.after(external.drop)
  const data_dir = join(temp.path, 'external')
  mkdirSync(join(data_dir, 'blobs'), { recursive: true })
  const env = { DATABASE_URL: external.url, KINORA_DATA_DIR: data_dir }
  await withOlder(external.url, async (count) => {
    for (const command of ['org list', 'org create --name A', 'database move --to embedded'])
      await assertRefused(command.split(' '), env, UPGRADE)
    assert.equal(await count(), files.length - 1)
    const migrated = await runKinora(['migrate'], { env, cwd: temp.path })
    assert.equal(migrated.code, 0, migrated.stderr)
    assert.equal((await runCommand(['admin', 'org', 'list'], env)).code, 0)
  })
})

test('a command migrates the embedded database only while no service runs on its directory', async () => {
  const data_dir = join(temp.path, 'embedded')
  const env = { KINORA_DATA_DIR: data_dir }
  const dir = openDataDir(data_dir)
  const server = await startEmbeddedPostgres({ dir: dir.postgres })
  await withOlder(server.url, async (count) => {
    await assertRefused(['org', 'list'], env, UPGRADE)
    assert.equal(await count(), files.length - 1)
  })
  await server.stop()
  dir.release()
  const alone = await runCommand(['admin', 'org', 'list'], env)
  assert.equal(alone.code, 0, alone.stderr)
  rmSync(data_dir, { recursive: true })
})

const BEGIN_AGAIN =
  /The database was made by a build of Kinora before version 0\.1\.0, whose data cannot be upgraded: begin with a new data directory, and with an empty database if DATABASE_URL is set\./

test('a database of a build before 0.1.0 is refused by a start and by commands, unchanged, with what to do', async (t) => {
  const external = await emptyDatabase()
  const { pool, close } = openDb(external.url, { pool_max: 1 })
  const dir = dataDir()
  t.after(async () => {
    await close()
    await Promise.all([external.drop(), dir.remove()])
  })
  await pool.query(`
    create table schema_migrations (number integer primary key, name text not null, sha256 text not null);
    insert into schema_migrations values (1, '0001-identity', 'a'), (45, '0045-deliveries-by-state', 'b');
    create table organizations (id text primary key);
    insert into organizations values ('org_1')`)
  await assert.rejects(dir.serve({ DATABASE_URL: external.url }), { name: 'StartError', message: BEGIN_AGAIN })
  const env = { DATABASE_URL: external.url, KINORA_DATA_DIR: dir.path }
  for (const command of ['org list', 'database move --to embedded'])
    await assertRefused(command.split(' '), env, BEGIN_AGAIN)
  const { rows } = await pool.query("select tablename as name from pg_tables where schemaname = 'public' order by 1")
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['organizations', 'schema_migrations'],
  )
})
