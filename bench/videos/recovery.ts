import { setTimeout as pause } from 'node:timers/promises'
import { kill, openSite, ownerOf, query, type Site, start, stop, submit } from '../../test/crash/kinora.ts'
import type { Row } from '../support/row.ts'

const ROUNDS = 12
const JOBS = 20
const BUDGET_SECONDS = { p50: 2, p99: 15 }

/** From the start after `kill -9` of the service under load until every job in flight has moved again, the start of the process included. */
export async function run(): Promise<Row[]> {
  const site = await openSite()
  try {
    const first = await start(site)
    const { key } = await ownerOf(site, first)
    const seconds: number[] = []
    const afterReady: number[] = []
    site.engines.conduct({ polls: 1e9 })
    let kinora = first
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all(
        Array.from({ length: JOBS }, (_, i) => submit(kinora, key, { prompt: `A boat of ${round}, ${i}` })),
      )
      await pause(100 + round * 40)
      await kill(kinora)
      const killed = performance.now()
      const before = await lastMoves(site)
      kinora = await start(site)
      const ready = performance.now()
      while (!(await allMoved(site, before))) await pause(20)
      seconds.push((performance.now() - killed) / 1000)
      afterReady.push((performance.now() - ready) / 1000)
    }
    await stop(kinora)
    const [p50, worst] = quantiles(seconds)
    const [p50AfterReady] = quantiles(afterReady)
    return [row('p50', p50, `${p50AfterReady.toFixed(2)} s of it once ready`), row('p99', worst, '—')]
  } finally {
    await site.close()
  }
}

function quantiles(seconds: number[]): [p50: number, worst: number] {
  const sorted = seconds.sort((a, b) => a - b)
  return [sorted[Math.floor(sorted.length / 2)]!, sorted.at(-1)!]
}

function row(quantile: 'p50' | 'p99', seconds: number, yardstick: string): Row {
  const budget = BUDGET_SECONDS[quantile]
  return {
    name: `After kill -9, every job moving again, ${quantile}`,
    figure: `${seconds.toFixed(2)} s`,
    yardstick,
    ratio: '—',
    budget: `≤ ${budget} s`,
    ok: seconds <= budget,
  }
}

/** When each job in flight was last worked on: the claim its worker has, or had. */
async function lastMoves(site: Site): Promise<Map<unknown, string>> {
  const rows = await query(
    site,
    "select id, coalesce(claim_id, '') || ' ' || next_run_at as moved from video_jobs where finished_at is null",
  )
  return new Map(rows.map(({ id, moved }) => [id, String(moved)]))
}

async function allMoved(site: Site, before: Map<unknown, string>): Promise<boolean> {
  const now = await lastMoves(site)
  return [...before].every(([id, moved]) => now.get(id) !== moved)
}
