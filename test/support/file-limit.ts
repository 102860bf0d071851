import type { ChildProcess } from 'node:child_process'
import { argumentsOf, childrenOf } from './processes.ts'

/**
 * The runner limits tests and hooks alone: for a file that has left something open, or whose loop never ends, it waits for ever. This ends such
 * a file, with all it has started, so that it fails by its name. On Linux; elsewhere such a run has to be ended by hand. Returns how to stop.
 */
export function limitTestFiles(runner: ChildProcess, { seconds }: { seconds: number }): () => void {
  let since = new Map<number, number>()
  const look = () => {
    const now = performance.now()
    since = new Map(childrenOf(runner.pid!).map((pid) => [pid, since.get(pid) ?? now]))
    for (const [pid, first_seen] of since) {
      if (now - first_seen < seconds * 1000) continue
      process.stdout.write(`\n${argumentsOf(pid).at(-1)} has not ended in ${seconds} s, and is ended\n`)
      killTree(pid)
    }
  }
  const timer = setInterval(look, 1000)
  return () => clearInterval(timer)
}

function killTree(pid: number): void {
  const children = childrenOf(pid)
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
  for (const child of children) killTree(child)
}
