import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDb } from '../../../server/platform/db/db.ts'
import { MIGRATIONS_DIR, migrate } from '../../../server/platform/db/migrate.ts'
import { startEmbeddedPostgres } from '../../../server/platform/postgres/embedded.ts'

/**
 * Puts a copy of the directory that `make` fills at `path`, which must not exist. Whoever asks first for `name` makes it, for all processes of the
 * run.
 */
export async function copyPrepared(name: string, path: string, make: (path: string) => Promise<void>): Promise<void> {
  const place = join(home(), name)
  if (!existsSync(place)) {
    const draft = join(mkdtempSync(join(home(), 'draft-')), name)
    await make(draft)
    try {
      renameSync(draft, place)
    } catch (error) {
      // Another process may have been faster.
      if (!existsSync(place)) throw error
    }
  }
  // With its owners and modes, which PostgreSQL checks.
  assert.equal(spawnSync('cp', ['-a', place, path]).status, 0)
}

/**
 * Puts a database at `path`, the home of an embedded PostgreSQL: its cluster is made and its tables are migrated, which takes two seconds of CPU,
 * but no service has used it.
 */
export async function prepareDatabase(path: string): Promise<void> {
  await copyPrepared('postgres', path, async (dir) => {
    const server = await startEmbeddedPostgres({ dir })
    const { pool, close } = openDb(server.url, { pool_max: 1 })
    await migrate(pool, MIGRATIONS_DIR).finally(close)
    await server.stop()
  })
}

let own: string | undefined

/** The runner's directory, else one of this process. */
function home(): string {
  if (process.env.KINORA_TEST_PREPARED !== undefined) return process.env.KINORA_TEST_PREPARED
  if (own === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'kinora-prepared-'))
    process.once('exit', () => rmSync(made, { recursive: true, force: true }))
    own = made
  }
  return own
}
