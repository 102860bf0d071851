import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { readExposition } from '../../test/support/data/exposition.ts'
import { ROOT } from '../../test/support/sources.ts'
import type { Node } from './node.ts'

/** What one node showed to its monitors since the journal was opened. */
export type Journal = {
  /** Every change of what `/readyz` said: `ready`, the reason why not with its part, `silent` without an answer, `down` without a process. */
  states: ReadonlyArray<{ at: number; state: string }>
  /** Smallest and largest value of each metric that a rule of deploy/prometheus names, over all labels. */
  metrics: ReadonlyMap<string, { min: number; max: number }>
  /** Lines of its log since then that an operator would read, by event, and how many of each. */
  logged(): Map<string, number>
  close(): Promise<void>
}

/** The state of a node that works in every part. */
export const READY = 'ready'
const ASK_EVERY_MS = 200
const METRICS_EVERY_MS = 1000
const ANSWER_LIMIT_MS = 2000

/** The metrics that alerts are made of, without those that count all work. */
const RULES = readFileSync(join(ROOT, 'deploy', 'prometheus', 'kinora-rules.yaml'), 'utf8')
const WATCHED = new Set([...RULES.matchAll(/\bkinora_\w+|nodejs_\w+/g)].map(([name]) => name))
WATCHED.add('kinora_storage_reachable')
for (const name of WATCHED) if (/_(count|bucket|requests_total)$/.test(name)) WATCHED.delete(name)

export function openJournal({ url, metrics_url, log_file }: Node): Journal {
  const states: Array<{ at: number; state: string }> = []
  const metrics = new Map<string, { min: number; max: number }>()
  const begin = statSync(log_file).size
  let closed = false
  const repeat = async (every_ms: number, work: () => Promise<void>) => {
    for (; !closed; await pause(every_ms)) await work()
  }
  const asking = Promise.all([
    repeat(ASK_EVERY_MS, async () => {
      const state = await stateOf(url)
      if (state !== states.at(-1)?.state) states.push({ at: performance.now(), state })
    }),
    repeat(METRICS_EVERY_MS, () => readMetrics(metrics_url, metrics)),
  ])
  return {
    states,
    metrics,
    logged: () => countEvents(readFileSync(log_file).subarray(begin).toString('utf8')),
    async close() {
      closed = true
      await asking
    },
  }
}

async function stateOf(url: string): Promise<string> {
  const signal = AbortSignal.timeout(ANSWER_LIMIT_MS)
  try {
    const response = await fetch(`${url}/readyz`, { signal })
    const { reason, database, storage } = (await response.json()) as Record<string, string | null>
    if (reason === null) return storage === 'ok' ? READY : `${READY}, storage ${storage}`
    const part = { database, storage }[reason!]
    return part ? `${reason} ${part}` : reason!
  } catch {
    return signal.aborted ? 'silent' : 'down'
  }
}

async function readMetrics(url: string, metrics: Map<string, { min: number; max: number }>): Promise<void> {
  const text = await fetch(url, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) })
    .then((response) => response.text())
    .catch(() => '')
  const sums = new Map<string, number>()
  for (const { name, value } of readExposition(text).lines)
    if (WATCHED.has(name)) sums.set(name, (sums.get(name) ?? 0) + value)
  for (const [name, value] of sums) {
    const { min, max } = metrics.get(name) ?? { min: value, max: value }
    metrics.set(name, { min: Math.min(min, value), max: Math.max(max, value) })
  }
}

const WARN = 40

function countEvents(text: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const line of text.split('\n')) {
    const { level, event } = parse(line)
    if (level === undefined || (level < WARN && !/_(away|back|lost|reclaimed|stepped)$/.test(event))) continue
    counts.set(event, (counts.get(event) ?? 0) + 1)
  }
  return counts
}

function parse(line: string): { level?: number; event: string } {
  try {
    return JSON.parse(line)
  } catch {
    return { event: '' }
  }
}
