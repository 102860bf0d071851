/**
 * The smallest service: holds a data directory and runs its database, for tests that kill one.
 * `node service.ts <data-dir> [native]`; prints one JSON line when up, stops when its standard input ends.
 */
import { openDataDir } from '../../server/platform/data-dir.ts'
import { startEmbeddedPostgres } from '../../server/platform/postgres/embedded.ts'

const [path, native] = process.argv.slice(2)
try {
  const dir = openDataDir(path!)
  const server = await startEmbeddedPostgres({ dir: dir.postgres, ...(native ? { native } : {}) })
  console.log(JSON.stringify({ url: server.url, pid: server.pid(), adopted: server.adopted }))
  process.stdin.resume().once('end', async () => {
    await server.stop()
    dir.release()
  })
} catch (error) {
  console.error(`${(error as Error).name}: ${(error as Error).message}`)
  process.exitCode = 1
}
