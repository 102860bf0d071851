import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { SERVER_MAIN } from '../../test/runner/server-bundle.ts'
import { printed } from '../../test/support/command.ts'
import { freePort } from '../../test/support/listen.ts'

export type Node = {
  name: string
  url: string
  metrics_url: string
  /** Where its process writes. */
  log_file: string
  env: Readonly<Record<string, string>>
  /** Ends it without a warning; it stays away until `start`. */
  kill(): Promise<void>
  /** Resolves once it is ready. */
  start(): Promise<void>
  /** Stops it as systemd does, and starts it again. Rejects when it did not end well. */
  replace(): Promise<void>
  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGUSR2'): void
  /** Ended by itself, so far. */
  crashes(): number
  stop(): Promise<void>
}

const CLOCK = join(import.meta.dirname, 'skewed-clock.ts')
const RESTART_MS = 500

export type NodeOptions = { name: string; dir: string; env: Readonly<Record<string, string>>; url: string }

/** Runs `kinora serve` at `url`, and starts it again when it ends by itself. */
export async function startNode({ name, dir, url, env: given }: NodeOptions): Promise<Node> {
  const log_file = join(dir, `${name}.log`)
  const log = createWriteStream(log_file, { flags: 'a' })
  const metrics_port = await freePort()
  const env = { ...given, KINORA_DATA_DIR: join(dir, name), KINORA_METRICS_PORT: String(metrics_port) }
  const state = { child: null as ChildProcess | null, crashes: 0, closed: false }
  const start = async () => {
    if (state.closed) return
    const args = ['--import', CLOCK, SERVER_MAIN, 'serve', '--port', new URL(url).port]
    const child = spawn(process.execPath, args, {
      env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    state.child = child
    for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false })
    child.once('exit', () => {
      if (state.child !== child) return
      state.crashes += 1
      setTimeout(() => void start().catch(() => {}), RESTART_MS)
    })
    await printed(child, 'stdout', /kinora ready on/)
  }
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    const { child } = state
    if (!child) return null
    state.child = null
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
    const gone = once(child, 'exit')
    child.kill('SIGCONT')
    child.kill(signal)
    return (await gone)[0]
  }
  await start()
  return {
    name,
    url,
    metrics_url: `http://127.0.0.1:${metrics_port}/metrics`,
    log_file,
    env,
    kill: async () => void (await end('SIGKILL')),
    start,
    async replace() {
      const code = await end('SIGTERM')
      if (code !== 0) throw new Error(`node ${name} ended with ${code} when it was stopped`)
      await start()
    },
    signal: (signal) => void state.child?.kill(signal),
    crashes: () => state.crashes,
    async stop() {
      state.closed = true
      // The second signal ends the drain.
      state.child?.kill('SIGTERM')
      await end('SIGTERM')
      log.end()
    },
  }
}
