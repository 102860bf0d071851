import { readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuOfTree, TICKS } from './cpu.ts'

/** Ticks of all cores since the machine started. */
export type CpuTimes = { processes: number; interrupts: number; idle: number; steal: number }

/** How busy the machine was before a benchmark: the load average of a minute, and shares of all cores' time. */
export type Before = { load_1m: number; busy_share: number; steal_share: number }

/** While a benchmark ran: the share of all cores' time that went to processes of others, and that other machines on the same host took. */
export type During = { foreign_share: number; steal_share: number }

/**
 * What a quiet machine stays within. One core busy for a while is a load of 1; a share of 0.1 is the system's own duties on two cores. Stolen
 * time makes every figure worse and stands in none of them.
 */
const LIMITS = { load_1m: 1, busy_share: 0.1, steal_share: 0.02, foreign_share: 0.1 }

/** Until the load that the benchmark before left behind has faded: from 6 to 1 in about as long. */
const FADE_SECONDS_MAX = 120
const SAMPLE_SECONDS = 2

/** How busy the machine is. Waits while nothing but the load average is high, because that is our own past. */
export async function howBusy(): Promise<Before> {
  for (let waited = 0; ; waited += SAMPLE_SECONDS) {
    const times = cpuTimes()
    await sleep(SAMPLE_SECONDS * 1000)
    const { busy_share, steal_share } = sharesOf(times, cpuTimes())
    const before = { load_1m: loadavg()[0]!, busy_share, steal_share }
    const fading = before.load_1m > LIMITS.load_1m && reasonsOf({ ...before, load_1m: 0 }).length === 0
    if (!fading || waited >= FADE_SECONDS_MAX) return before
  }
}

/** Runs `work` and says what else ran meanwhile. */
export async function watchDuring<Result>(work: () => Promise<Result>): Promise<{ result: Result; during: During }> {
  const before = cpuTimes()
  const own = countOwnTicks()
  const result = await work().finally(own.stop)
  return { result, during: foreignOf({ before, after: cpuTimes(), own: own.ticks() }) }
}

/** Returns a function with the share of all cores' time that nobody has used since. */
export function watchIdle(): () => number {
  const before = cpuTimes()
  return () => {
    const { idle, total } = between(before, cpuTimes())
    return idle / total
  }
}

/** Why figures taken now are not to be believed; empty on a quiet machine. */
export function reasonsOf(busy: Partial<Before & During>): string[] {
  const reasons: string[] = []
  const percent = (share: number) => `${(share * 100).toFixed(0)} %`
  const { load_1m, busy_share, steal_share, foreign_share } = busy
  if ((load_1m ?? 0) > LIMITS.load_1m) reasons.push(`load average ${load_1m!.toFixed(1)}, over ${LIMITS.load_1m}`)
  if ((busy_share ?? 0) > LIMITS.busy_share)
    reasons.push(`cores busy ${percent(busy_share!)}, over ${percent(LIMITS.busy_share)}`)
  if ((foreign_share ?? 0) > LIMITS.foreign_share)
    reasons.push(`other processes ${percent(foreign_share!)}, over ${percent(LIMITS.foreign_share)}`)
  if ((steal_share ?? 0) > LIMITS.steal_share)
    reasons.push(`steal ${percent(steal_share!)}, over ${percent(LIMITS.steal_share)}`)
  return reasons
}

/** The first line of `/proc/stat`. Guest time is part of user time. Source: https://man7.org/linux/man-pages/man5/proc_stat.5.html */
export function parseCpuTimes(stat: string): CpuTimes {
  const [user, nice, system, idle, iowait, irq, softirq, steal] = stat
    .split('\n', 1)[0]!
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number) as number[]
  return { processes: user! + nice! + system!, interrupts: irq! + softirq!, idle: idle! + iowait!, steal: steal ?? 0 }
}

export function sharesOf(before: CpuTimes, after: CpuTimes): { busy_share: number; steal_share: number } {
  const { processes, interrupts, steal, total } = between(before, after)
  return { busy_share: (processes + interrupts) / total, steal_share: steal / total }
}

/** `own`: ticks of our processes in that time. Interrupts are not counted, because those of our own sockets are among them. */
export function foreignOf({ before, after, own }: { before: CpuTimes; after: CpuTimes; own: number }): During {
  const { processes, steal, total } = between(before, after)
  return { foreign_share: Math.max(0, processes - own) / total, steal_share: steal / total }
}

function between(before: CpuTimes, after: CpuTimes): CpuTimes & { total: number } {
  const processes = after.processes - before.processes
  const interrupts = after.interrupts - before.interrupts
  const idle = after.idle - before.idle
  const steal = after.steal - before.steal
  return { processes, interrupts, idle, steal, total: Math.max(1, processes + interrupts + idle + steal) }
}

function cpuTimes(): CpuTimes {
  return parseCpuTimes(readFileSync('/proc/stat', 'utf8'))
}

/**
 * Ticks of our processes from now on. Taken in samples, because the time of a process whose parent ended first, as those of a browser do, is in
 * nobody's total any more.
 */
function countOwnTicks(): { ticks(): number; stop(): void } {
  let last = ownTicks()
  let sum = 0
  const sample = () => {
    const now = ownTicks()
    sum += Math.max(0, now - last)
    last = now
  }
  const timer = setInterval(sample, SAMPLE_SECONDS * 1000)
  return {
    ticks() {
      sample()
      return sum
    },
    stop: () => clearInterval(timer),
  }
}

function ownTicks(): number {
  return (cpuOfTree(process.pid) * TICKS) / 1_000_000
}
