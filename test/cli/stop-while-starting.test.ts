import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDb } from '../../server/platform/db/db.ts'
import { ended, printed, startKinora } from '../support/command.ts'
import { dataDir, emptyDatabase } from '../support/data/data-dir.ts'

test('a start that cannot announce itself logs why once, and ends with 0 at the first SIGTERM', async (t) => {
  const dir = dataDir()
  const external = await emptyDatabase()
  const { pool, close } = openDb(external.url)
  t.after(async () => {
    await close()
    await external.drop()
    await dir.remove()
  })
  const env = { DATABASE_URL: external.url }
  await (await dir.serve(env)).stop()
  await pool.query('alter table workers rename to workers_away')
  const child = startKinora(['serve', '--data-dir', dir.path, '--port', '0'], { env })
  const stopped = ended(child)
  await printed(child, 'stderr', /announcements_lost/)
  child.kill('SIGTERM')
  const { code, stderr } = await stopped
  assert.equal(code, 0, stderr)
  assert.equal(stderr.match(/announcements_lost/g)?.length, 1)
  assert.match(stderr, /relation \S+ does not exist/)
})
