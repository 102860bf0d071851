import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '../../server/cli/database.ts'
import { loadConfig } from '../../server/config/load.ts'
import { silentLog } from '../../server/platform/log.ts'
import { dataDir, emptyDatabase } from '../support/data/data-dir.ts'
import { postgresProxy } from '../support/upstream/postgres-proxy.ts'

test('a start whose database goes away while it migrates waits for it and begins again', async (t) => {
  const dir = dataDir()
  const external = await emptyDatabase()
  const proxy = await postgresProxy(external.url)
  t.after(async () => {
    await proxy.close()
    await external.drop()
    await dir.remove()
  })
  const config = loadConfig({ data_dir: dir.path }, { DATABASE_URL: proxy.url }, null)
  const waited: string[] = []
  const database = await openDatabase(config, silentLog, {
    waiting: {
      signal: t.signal,
      async answer(waiting_for) {
        waited.push(waiting_for)
        if (waited.length === 1) proxy.cut()
        else proxy.mend()
        return 0
      },
    },
  })
  assert.deepEqual(waited, ['migrating', 'database', 'migrating'])
  await database.stop()
})
