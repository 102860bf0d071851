import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
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
        else proxy.restore()
        return 0
      },
    },
  })
  assert.deepEqual(waited, ['migrating', 'database', 'migrating'])
  await database.stop()
})

test('a service logs once that it lost the connections that hold and hear the database, and once that they are back', async (t) => {
  const dir = dataDir()
  const external = await emptyDatabase()
  const proxy = await postgresProxy(external.url)
  t.after(async () => {
    await dir.remove()
    await proxy.close()
    await external.drop()
  })
  const logged: string[] = []
  const note = (event: string) => void (/^(announcements|database_lock)_/.test(event) && logged.push(event))
  const serving = await dir.serve({ DATABASE_URL: proxy.url }, { ...silentLog, warn: note, info: note })
  assert.deepEqual(logged, [])
  proxy.cut()
  while (logged.length < 2) await pause(5)
  proxy.restore()
  while (logged.length < 4) await pause(5)
  await serving.stop()
  const expected = ['announcements_back', 'announcements_lost', 'database_lock_back', 'database_lock_lost']
  assert.deepEqual(logged.toSorted(), expected)
})
