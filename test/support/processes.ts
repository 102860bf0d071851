import { readFileSync } from 'node:fs'

/** The processes that one has started, from Linux's process table; none of one that is gone. */
export function childrenOf(pid: number): number[] {
  return read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
}

/** With what a process was started; between fork and exec that is still its parent's. Empty once it has ended. */
export function argumentsOf(pid: number): string[] {
  return read(`/proc/${pid}/cmdline`).split('\0').slice(0, -1)
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Kills a process and all that it has started. */
export function killTree(pid: number): void {
  const children = childrenOf(pid)
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
  for (const child of children) killTree(child)
}
