import { setTimeout as pause } from 'node:timers/promises'
import { kill, openSite, ownerOf, query, type Site, start, stop, submit } from '../../test/crash/kinora.ts'
import { QUICK } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'

const ROUNDS = QUICK ? 2 : 12
const JOBS = 20
const BUDGET_SECONDS = { median: 2, longest: 15 }

/** From the start after `kill -9` of the service under load until every job in flight has made progress, including the start of the process. */
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
    const name = 'After kill -9, every job moving again'
    return [
      rowOf({ name, unit: 's', rounds: seconds, limit: BUDGET_SECONDS.median }),
      rowOf({ name: `${name}, longest`, unit: 's', rounds: [Math.max(...seconds)], limit: BUDGET_SECONDS.longest }),
      rowOf({ name: `${name}, counted from ready`, unit: 's', rounds: afterReady }),
    ]
  } finally {
    await site.close()
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
