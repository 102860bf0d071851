import { readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DataDir, openDataDir } from '../../platform/data-dir.ts'
import { runningPostgresUrl, startEmbeddedPostgres } from '../../platform/postgres/embedded.ts'

/** How the data directory of a demo begins, below the temporary directory. */
export const DEMO_PREFIX = 'kinora-demo-'

/** A demo that was killed leaves its database running: stops it and takes its directory away. Demos that still run are left alone. */
export async function clearDemosLeftBehind(): Promise<void> {
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

/** Null while its demo runs, and for what is no data directory of ours. */
function tryOpen(path: string): DataDir | null {
  try {
    return openDataDir(path)
  } catch {
    return null
  }
}
