import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type RunningService = {
  url: string
  /** Of the database's main process. */
  pid: number
  adopted: boolean
  process: ChildProcess
  /** SIGKILL, as a crash; resolves when it is dead. */
  kill(): Promise<void>
  stop(): Promise<void>
}

const SCRIPT = join(import.meta.dirname, '..', 'platform', 'service.ts')

/** Starts `test/platform/service.ts`. Throws with what it printed when it refuses to start. */
export async function startService(options: { dir: string; native?: string; uid?: number }): Promise<RunningService> {
  const args = [SCRIPT, options.dir, ...(options.native ? [options.native] : [])]
  const as = options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'], cwd: '/', ...as })
  let output = ''
  let errors = ''
  child.stderr.on('data', (chunk) => (errors = errors + chunk))
  const exited = once(child, 'close')
  const up = new Promise<void>((resolve) =>
    child.stdout.on('data', (chunk) => {
      output = output + chunk
      if (output.includes('\n')) resolve()
    }),
  )
  await Promise.race([up, exited])
  if (!output.includes('\n')) throw new Error(errors)
  return {
    ...(JSON.parse(output) as { url: string; pid: number; adopted: boolean }),
    process: child,
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async stop() {
      child.stdin.end()
      await exited
    },
  }
}

/** An empty directory that `uid` owns, with the way to take it away again. */
export function tempDir(uid?: number): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'kinora-test-'))
  if (uid !== undefined) chownSync(path, uid, uid)
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }) }
}

/** A uid that is not ours and can read this checkout; null when we are not root or it cannot. */
export function otherUid(): number | null {
  if (process.getuid?.() !== 0) return null
  const nobody = { uid: 65534, gid: 65534 }
  return spawnSync(process.execPath, ['--check', SCRIPT], { cwd: '/', ...nobody }).status === 0 ? nobody.uid : null
}
