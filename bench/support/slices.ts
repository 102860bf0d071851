import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The controller of processor time, of either version of Linux's control groups. */
const V1 = '/sys/fs/cgroup/cpu'
const V2 = '/sys/fs/cgroup'
const PERIOD_US = 10_000

/** Why processes cannot be limited here, or null. */
export const withoutSlices =
  process.getuid?.() !== 0
    ? 'limits processor time: run it as root'
    : existsSync(join(V1, 'cpu.cfs_quota_us')) || existsSync(join(V2, 'cgroup.subtree_control'))
      ? null
      : 'needs control groups of Linux'

/** Gives a process, with all of its threads, `share` of one core from now on. Returns a function that takes the limit away. */
export function limitToSlice(pid: number, share: number): () => void {
  const quota = Math.round(PERIOD_US * share)
  const one = existsSync(join(V1, 'cpu.cfs_quota_us'))
  const root = one ? V1 : V2
  const group = join(root, `kinora-bench-${pid}`)
  if (!one) writeFileSync(join(root, 'cgroup.subtree_control'), '+cpu')
  mkdirSync(group, { recursive: true })
  if (one) {
    writeFileSync(join(group, 'cpu.cfs_period_us'), String(PERIOD_US))
    writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quota))
  } else writeFileSync(join(group, 'cpu.max'), `${quota} ${PERIOD_US}`)
  writeFileSync(join(group, 'cgroup.procs'), String(pid))
  return () => {
    try {
      writeFileSync(join(root, 'cgroup.procs'), String(pid))
    } catch {
      // It has ended.
    }
    rmdirSync(group)
  }
}
