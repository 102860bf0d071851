import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export type WatchedService = {
  /** Resolves when the service is ready, or has failed and waits for a change. */
  settled(): Promise<void>
  stop(): Promise<void>
}

/** Environment variables with the port and the public URL of the service. */
export const DEV_PORT = 'KINORA_DEV_PORT'
export const DEV_URL = 'KINORA_DEV_URL'

type WatchOptions = { args: string[]; port: number; public_url: string; script?: string }

/** Runs the service under `node --watch`: it restarts when one of its files changes. `args` are those of `kinora serve`. */
export function watchService(options: WatchOptions): WatchedService {
  const { args, port, public_url, script = join(import.meta.dirname, 'serve.ts') } = options
  // A group of its own: Ctrl-C reaches the whole group of the terminal, and a second signal would end the service before it has shut
  // down its database.
  const child = spawn(process.execPath, ['--watch', '--watch-preserve-output', script, ...args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, [DEV_PORT]: String(port), [DEV_URL]: public_url },
  })
  const ended = once(child, 'close')
  let stopping = false
  process.once('exit', () => stopping || child.kill())
  let settled = Promise.withResolvers<void>()
  void ended.then(() => settled.resolve())
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.includes('Restarting ')) settled = Promise.withResolvers()
    if (line.startsWith('kinora ready on') || line.includes('Failed running ')) settled.resolve()
    // The address of the service itself is not the one to open.
    if (!line.startsWith('kinora ready on')) process.stdout.write(`${line}\n`)
  })
  return {
    settled: () => settled.promise,
    async stop() {
      stopping = true
      child.kill('SIGTERM')
      await ended
    },
  }
}
