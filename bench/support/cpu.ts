import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks of `/proc` in a second; fixed on every Linux that Node runs on. */
export const TICKS = 100

/** CPU time of a process and its threads so far, in microseconds. */
export function cpuOf(pid: number): number {
  const [user, system] = ticksOf(pid)
  return ((user! + system!) * 1_000_000) / TICKS
}

/** CPU time of a process, of its children, and of its children that have ended, in microseconds. */
export function cpuOfTree(pid: number): number {
  const own = ticksOf(pid).reduce((sum, each) => sum + each, 0)
  const living = childrenOf(pid).reduce((sum, child) => sum + cpuOfTreeOrGone(child), 0)
  return (own * 1_000_000) / TICKS + living
}

/** Resident memory in MB: now and at its highest. */
export function memoryOf(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mb = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024
  return { now: mb('VmRSS'), peak: mb('VmHWM') }
}

function cpuOfTreeOrGone(pid: number): number {
  try {
    return cpuOfTree(pid)
  } catch {
    return 0
  }
}

/** utime, stime, cutime, cstime. Source: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function ticksOf(pid: number): number[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
    .map(Number)
}

/** Process ids of its children. */
export function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
  )
}
