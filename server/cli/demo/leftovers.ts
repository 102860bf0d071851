import { readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DataDir, openDataDir } from '../../platform/data-dir.ts'
import { runningPostgresUrl, startEmbeddedPostgres } from '../../platform/postgres/embedded.ts'

/** Prefix of a demo's data directory in the temporary directory. */
export const DEMO_PREFIX = 'kinora-demo-'

/** A killed demo leaves its database running: stops it and removes its directory. Running demos are not touched. */
export async function removeKilledDemos(): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    const path = join(tmpdir(), name)
    if (!name.startsWith(DEMO_PREFIX) || !isOwn(path)) continue
    const dir = tryOpen(path)
    if (!dir || runningPostgresUrl(dir.postgres) === null) {
      dir?.release()
      continue
    }
    const server = await startEmbeddedPostgres({ dir: dir.postgres })
    await server.stop()
    dir.release()
    rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
}

function isOwn(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found?.isDirectory() === true && found.uid === process.getuid?.()
}

/** Null while its demo runs, and when it is not a data directory. */
function tryOpen(path: string): DataDir | null {
  try {
    return openDataDir(path)
  } catch {
    return null
  }
}
