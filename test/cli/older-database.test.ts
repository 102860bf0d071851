import assert from 'node:assert/strict'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openDataDir } from '../../server/platform/data-dir.ts'
import { openDb } from '../../server/platform/db/db.ts'
import { MIGRATIONS_DIR, migrate, readMigrations } from '../../server/platform/db/migrate.ts'
import { startEmbeddedPostgres } from '../../server/platform/postgres/embedded.ts'
import { runKinora } from '../support/command.ts'
import { emptyDatabase } from '../support/data/data-dir.ts'
import { tempDir } from '../support/service.ts'

const temp = tempDir()
after(temp.remove)
const files = readMigrations(MIGRATIONS_DIR)
const OLDER = files.at(-2)!
const LATEST = files.at(-1)!

/** Runs `use` on a database that the version before this one has migrated. `count` counts its migrations. */
async function withOlder(url: string, use: (count: () => Promise<number>) => Promise<void>): Promise<void> {
  const { pool, close } = openDb(url, { pool_max: 1 })
  try {
    await migrate(pool, MIGRATIONS_DIR, { up_to: OLDER.number })
    await use(async () => (await pool.query('select from schema_migrations')).rowCount!)
  } finally {
    await close()
  }
}

async function assertRefused(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { code, stdout, stderr } = await runKinora(['admin', ...args], { env, cwd: temp.path })
  assert.deepEqual([code, stdout], [1, ''], args.join(' '))
  const message = new RegExp(`older version of Kinora.*${OLDER.name}.*${LATEST.name}.*kinora migrate`)
  assert.match(stderr, message, args.join(' '))
  assert.doesNotMatch(stderr, /\n\s+at /)
}

test('no admin command migrates an external database: one of an older version is refused with what to do', async (t) => {
  const external = await emptyDatabase()
  t.after(external.drop)
  const data_dir = join(temp.path, 'external')
  mkdirSync(join(data_dir, 'blobs'), { recursive: true })
  const env = { DATABASE_URL: external.url, KINORA_DATA_DIR: data_dir }
  await withOlder(external.url, async (count) => {
    const commands = [
      'org list',
      'org create --name A',
      'nodes',
      'reload',
      'audit',
      'log',
      'database move --to embedded',
    ]
    for (const command of commands) await assertRefused(command.split(' '), env)
    assert.equal(await count(), files.length - 1)
    const migrated = await runKinora(['migrate'], { env, cwd: temp.path })
    assert.equal(migrated.code, 0, migrated.stderr)
    assert.equal((await runKinora(['admin', 'org', 'list'], { env, cwd: temp.path })).code, 0)
  })
})

test('a command migrates the embedded database only while no service runs on its directory', async () => {
  const data_dir = join(temp.path, 'embedded')
  const env = { KINORA_DATA_DIR: data_dir }
  const dir = openDataDir(data_dir)
  const server = await startEmbeddedPostgres({ dir: dir.postgres })
  await withOlder(server.url, async (count) => {
    await assertRefused(['org', 'list'], env)
    assert.equal(await count(), files.length - 1)
  })
  await server.stop()
  dir.release()
  const alone = await runKinora(['admin', 'org', 'list'], { env, cwd: temp.path })
  assert.equal(alone.code, 0, alone.stderr)
  rmSync(data_dir, { recursive: true })
})
