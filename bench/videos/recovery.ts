import { setTimeout as pause } from 'node:timers/promises'
import { kill, openSite, ownerOf, query, type Site, start, stop, submit } from '../../test/crash/kinora.ts'
import { QUICK } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'

const ROUNDS = QUICK ? 2 : 12
const JOBS = 20
const BUDGET_SECONDS = { median: 2, longest: 15 }

/**
 * How late the jobs in flight go on after `kill -9` of the service under load: from the kill, or from when the job is due where that is later, until it is
 * worked on, including the start of the process; of the 20 jobs the latest counts. A render is polled every five seconds, kill or not.
 */
export async function run(): Promise<Row[]> {
  const site = await openSite()
  try {
    const first = await start(site)
    const { key } = await ownerOf(site, first)
    const late: number[] = []
    const lateAfterReady: number[] = []
    site.engines.conduct({ polls: 1e9 })
    let kinora = first
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all(
        Array.from({ length: JOBS }, (_, i) => submit(kinora, key, { prompt: `A boat of ${round}, ${i}` })),
      )
      await pause(100 + round * 40)
      await kill(kinora)
      const killed = Date.now()
      const before = await lastMoves(site)
      kinora = await start(site)
      const ready = Date.now()
      const moved = await whenMoved(site, before)
      const latest = (since: number) =>
        Math.max(...[...before].map(([id, { due }]) => moved.get(id)! - Math.max(since, due))) / 1000
      late.push(latest(killed))
      lateAfterReady.push(latest(ready))
    }
    await stop(kinora)
    const name = 'After kill -9, every job going on'
    return [
      rowOf({ name, unit: 's', rounds: late, limit: BUDGET_SECONDS.median }),
      rowOf({ name: `${name}, longest`, unit: 's', rounds: [Math.max(...late)], limit: BUDGET_SECONDS.longest }),
      rowOf({ name: `${name}, counted from ready`, unit: 's', rounds: lateAfterReady }),
    ]
  } finally {
    await site.close()
  }
}

/** `due` in milliseconds; `state` changes with every step of the job. */
type Move = { state: string; due: number }

/** When each job in flight was last worked on, and when it is due. */
async function lastMoves(site: Site): Promise<Map<unknown, Move>> {
  const rows = await query(
    site,
    `select id, status || ' ' || next_run_at as state, (extract(epoch from next_run_at) * 1000)::float8 as due
     from video_jobs where finished_at is null`,
  )
  return new Map(rows.map(({ id, state, due }) => [id, { state: String(state), due: Number(due) }]))
}

/** When each of the jobs was first seen to be worked on again, in milliseconds. */
async function whenMoved(site: Site, before: ReadonlyMap<unknown, Move>): Promise<Map<unknown, number>> {
  const moved = new Map<unknown, number>()
  while (moved.size < before.size) {
    const now = await lastMoves(site)
    const seen = Date.now()
    for (const [id, { state }] of before) {
      if (!moved.has(id) && now.get(id)?.state !== state) moved.set(id, seen)
    }
    await pause(20)
  }
  return moved
}
