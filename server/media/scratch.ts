import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Sweep } from '../platform/sweep.ts'

/** Directories in use by this process, which their names carry: to distinguish them from leftovers of an earlier process with the same id. */
const open = new Set<string>()

/** Nothing made here lives longer than this, so an older directory is a leftover whatever process id it carries. */
const LEFTOVER_HOURS = 24

/** Runs `work` with a fresh directory under `work_dir` (default: the system's) and removes the directory afterwards, also on a throw. */
export async function withScratch<T>(work_dir: string | undefined, work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await makeScratch(work_dir)
  try {
    return await work(dir)
  } finally {
    await removeScratch(dir)
  }
}

/** Makes a directory `media-<pid>-<random>` under `work_dir`; the caller removes it with `removeScratch`. */
export async function makeScratch(work_dir: string | undefined): Promise<string> {
  const parent = work_dir ?? tmpdir()
  await mkdir(parent, { recursive: true })
  const dir = await mkdtemp(join(parent, `media-${process.pid}-`))
  open.add(dir)
  return dir
}

export async function removeScratch(dir: string): Promise<void> {
  open.delete(dir)
  await rm(dir, { recursive: true, force: true, maxRetries: 3 })
}

/** Removes leftovers every 15 minutes, in each process its own. A service starts with an empty `work_dir`. */
export function scratchSweep({ work_dir }: { work_dir: string }): Sweep {
  return {
    name: 'scratch',
    every_seconds: 900,
    each_process: true,
    run: async () => void (await sweepScratch(work_dir)),
  }
}

/**
 * Removes what killed processes left under `work_dir` and returns the number of directories removed.
 * A directory is kept while the process in its name lives (here: while it is in use) and it is younger than a day.
 */
export async function sweepScratch(work_dir: string): Promise<number> {
  const names = await readdir(work_dir).catch(() => [])
  let removed = 0
  for (const name of names) {
    const pid = Number(/^media-(\d+)-\w{6}$/.exec(name)?.[1])
    if (!pid) continue
    const dir = join(work_dir, name)
    if (await isInUse(dir, pid)) continue
    await rm(dir, { recursive: true, force: true })
    removed++
  }
  return removed
}

async function isInUse(dir: string, pid: number): Promise<boolean> {
  if (pid === process.pid) return open.has(dir)
  const made = await stat(dir).catch(() => null)
  if (made === null || Date.now() - made.mtimeMs > LEFTOVER_HOURS * 3_600_000) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
