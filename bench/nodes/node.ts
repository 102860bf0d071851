import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import type { Machine } from './network.ts'

export type Node = {
  machine: Machine
  /** Kills it without a warning; it is started again at once, as systemd would. */
  kill(): Promise<void>
  /** Ended other than by `kill` or `stop`, so far. */
  crashes(): number
  stop(): Promise<void>
}

const MAIN = join(import.meta.dirname, '..', '..', 'server', 'main.ts')
export const PORT = 8080

/** Runs `kinora serve` on a machine and keeps it running. Resolves once it is ready; its log goes to `<dir>/<name>.log`. */
export async function startNode(
  machine: Machine,
  { dir, config, env }: { dir: string; config: string; env: Readonly<Record<string, string>> },
): Promise<Node> {
  const log = createWriteStream(join(dir, `${machine.name}.log`), { flags: 'a' })
  let child: ChildProcess
  let crashes = 0
  let expected = false
  let stopping = false
  const start = (): Promise<void> => {
    const args = ['serve', '--host', '0.0.0.0', '--port', String(PORT), '--config', config]
    const flags = ['--data-dir', join(dir, machine.name)]
    const [program, given] = machine.command(process.execPath, [MAIN, ...args, ...flags])
    const started = spawn(program, given, {
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child = started
    started.stderr.pipe(log, { end: false })
    started.stdout.pipe(log, { end: false })
    void once(started, 'exit').then(() => {
      if (stopping) return
      if (!expected) crashes += 1
      expected = false
      void start()
    })
    return new Promise((resolve) =>
      started.stdout.on('data', (text) => {
        if (String(text).includes('kinora ready')) resolve()
      }),
    )
  }
  await start()
  return {
    machine,
    async kill() {
      expected = true
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
    crashes: () => crashes,
    async stop() {
      stopping = true
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
      log.end()
    },
  }
}
