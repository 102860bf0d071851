import type { TestContext } from 'node:test'
import { ended, printed, startKinora } from '../support/command.ts'
import { dataDir, emptyDatabase } from '../support/data/data-dir.ts'
import { postgresProxy } from '../support/upstream/postgres-proxy.ts'

/**
 * `kinora serve` as a process on a data directory and an empty database that is away: it waits until `proxy.restore()`. `flags` are given its data
 * directory before it starts. All of it ends with the test.
 */
export async function waitingService(t: TestContext, flags: (data_dir: string) => string[]) {
  const dir = dataDir()
  const external = await emptyDatabase()
  const proxy = await postgresProxy(external.url)
  proxy.cut()
  const child = startKinora(['serve', '--data-dir', dir.path, ...flags(dir.path)], { env: { DATABASE_URL: proxy.url } })
  t.after(async () => {
    child.kill('SIGTERM')
    await ended(child)
    await proxy.close()
    await external.drop()
    await dir.remove()
  })
  await printed(child, 'stderr', /waiting_for_database/)
  return { dir, proxy, child }
}
