import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

/** Servers under test and their yardsticks · what asks them, and what answers in their place: clients and model servers. */
export type Side = 'subject' | 'generator'
export type Layout = Record<Side, number[]>

/** The cores of each side; null where nothing is pinned: on one core, or without `taskset`. */
export const LAYOUT = layoutOf(allowedCores(), spawnSync('taskset', ['--version']).status === 0)

/** The first half of the cores to the subject, the rest to the generator. */
export function layoutOf(cores: readonly number[], hasTaskset: boolean): Layout | null {
  if (cores.length < 2 || !hasTaskset) return null
  const half = Math.floor(cores.length / 2)
  return { subject: cores.slice(0, half), generator: cores.slice(half) }
}

/** The command that runs `command` on the cores of `side`, with the same process id. */
export function pinned(side: Side, command: string, args: readonly string[]): [command: string, args: string[]] {
  if (!LAYOUT) return [command, [...args]]
  return ['taskset', ['--cpu-list', LAYOUT[side].join(','), command, ...args]]
}

/** The list of `/proc/<pid>/status`, as `0-2,5`. */
export function parseCores(list: string): number[] {
  return list.split(',').flatMap((part) => {
    const [from, to = from] = part.split('-').map(Number)
    return Array.from({ length: to! - from! + 1 }, (_, i) => from! + i)
  })
}

/** None on a system without `/proc`. */
function allowedCores(): number[] {
  if (!existsSync('/proc/self/status')) return []
  return parseCores(/^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]!)
}
