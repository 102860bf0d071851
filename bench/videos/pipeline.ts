import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { runAudit } from '../../server/audit/audit.ts'
import { median } from '../support/cpu.ts'
import type { Row } from '../support/row.ts'
import { type BenchService, startService } from '../support/service.ts'
import { perPiece, type Spent, spentOn } from '../support/spent.ts'
import { BODY } from './create.ts'
import { makeOrganizations } from './many-organizations.ts'

const JOBS = 4000
const CALLERS = 50
const ROUNDS = 3
const ORGANIZATIONS = 1000
/** How long a snapshot is held open while jobs run: `BENCH_SNAPSHOT_SECONDS`. */
const SNAPSHOT_SECONDS = Number(process.env.BENCH_SNAPSHOT_SECONDS ?? 600)

type Measured = { rate: number; spent: Spent }

/** Jobs from submission to a stored, probed and charged clip, with an engine that answers at once. */
export async function run(): Promise<Row[]> {
  const service = await startService()
  try {
    const keys = await makeOrganizations(service, ORGANIZATIONS)
    // The first round only warms up.
    await oneRound(service, [service.api_key])
    const one = await rounds(service, [service.api_key])
    const many = await rounds(service, keys)
    const broken = (await runAudit(service.db)).reduce((sum, { violations }) => sum + violations, 0)
    const cpu = (one.spent.node + one.spent.postgres) / JOBS
    const ratio = one.rate / many.rate
    return [
      {
        name: `Video pipeline, instant engine, ${JOBS} jobs of one organization submitted and run`,
        figure: `${one.rate.toFixed(0)} jobs/s; ${perPiece(one.spent, JOBS)} a job; ${broken} violations in the audit`,
        yardstick: '—',
        ratio: '—',
        budget: '≥ 800 jobs/s, ≤ 2000 µs, 0 violations',
        ok: one.rate >= 800 && cpu <= 2000 && broken === 0,
      },
      {
        name: 'The same, beside jobs of 1,000 organizations',
        figure: `${one.rate.toFixed(0)} jobs/s`,
        yardstick: `${many.rate.toFixed(0)} jobs/s; ${perPiece(many.spent, JOBS)} a job`,
        ratio: ratio.toFixed(2),
        budget: '≥ 0.9',
        ok: ratio >= 0.9,
      },
      await heldSnapshot(service, one),
    ]
  } finally {
    await service.stop()
  }
}

/** Jobs go on while a transaction keeps every row they leave behind from being cleaned up, as a dump does. */
async function heldSnapshot(service: BenchService, before: Measured): Promise<Row> {
  const client = await service.pool.connect()
  let last: Measured = before
  try {
    await client.query('set idle_in_transaction_session_timeout = 0')
    await client.query('begin isolation level repeatable read')
    await client.query('select count(*) from video_jobs')
    const until = performance.now() + SNAPSHOT_SECONDS * 1000
    do last = await oneRound(service, [service.api_key])
    while (performance.now() < until)
  } finally {
    await client.query('rollback')
    client.release(true)
  }
  const ratio = last.rate / before.rate
  return {
    name: `The same, after ${SNAPSHOT_SECONDS} s with a snapshot held open`,
    figure: `${last.rate.toFixed(0)} jobs/s; ${perPiece(last.spent, JOBS)} a job`,
    yardstick: `${before.rate.toFixed(0)} jobs/s before`,
    ratio: ratio.toFixed(2),
    budget: '≥ 0.9',
    ok: ratio >= 0.9,
  }
}

/** The round of the median rate. */
async function rounds(service: BenchService, keys: readonly string[]): Promise<Measured> {
  const all: Measured[] = []
  for (let round = 0; round < ROUNDS; round++) all.push(await oneRound(service, keys))
  const rate = median(all.map((each) => each.rate))
  return all.find((each) => each.rate === rate)!
}

async function oneRound(service: BenchService, keys: readonly string[]): Promise<Measured> {
  const started = performance.now()
  const { spent } = await spentOn(service, async () => {
    await allEnded(service, await submit(service, keys))
  })
  return { rate: JOBS / ((performance.now() - started) / 1000), spent }
}

/** Returns the ids of the jobs, in the order in which they were accepted. */
async function submit({ url }: BenchService, keys: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  const pool = new Pool(url, { connections: CALLERS })
  let sent = 0
  const call = async (): Promise<void> => {
    while (sent < JOBS) {
      const authorization = `Bearer ${keys[sent++ % keys.length]}`
      const headers = { authorization, 'content-type': 'application/json' }
      const { statusCode, body } = await pool.request({ path: '/v1/videos', method: 'POST', headers, body: BODY })
      const job = (await body.json()) as { id: string }
      if (statusCode !== 200) throw new Error(`a job was refused: ${statusCode}`)
      ids.push(job.id)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, call))
  await pool.close()
  return ids
}

/** Looks at the youngest jobs that may be under way, by their ids: a count of open jobs would itself read all that a snapshot keeps. */
async function allEnded({ pool }: BenchService, ids: string[]): Promise<void> {
  for (let left = ids.length; left > 0; ) {
    const youngest = ids.slice(Math.max(0, left - 50), left)
    const { rows } = await pool.query<{ status: string }>('select status from video_jobs where id = any($1)', [
      youngest,
    ])
    const failed = rows.filter(({ status }) => status === 'failed').length
    if (failed > 0) throw new Error(`${failed} jobs did not complete`)
    if (rows.every(({ status }) => status === 'completed')) left -= youngest.length
    else await sleep(50)
  }
}
