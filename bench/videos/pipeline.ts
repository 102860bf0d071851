import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { runAudit } from '../../server/audit/audit.ts'
import { amountOf, ROUNDS, WARM } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'
import { type BenchService, startService } from '../support/service.ts'
import { type Spent, spentEach, spentOn, totalOf } from '../support/spent.ts'
import { BODY } from './create.ts'
import { makeOrganizations } from './many-organizations.ts'

/** Of one round. */
const JOBS = amountOf(4000)
const CALLERS = 50
const ORGANIZATIONS = 1000
/** How long a snapshot is held open while jobs run: `BENCH_SNAPSHOT_SECONDS`. */
const SNAPSHOT_SECONDS = Number(process.env.BENCH_SNAPSHOT_SECONDS ?? amountOf(600))

type Measured = { rate: number; each: Spent }

/** Jobs from submission to a stored, probed and charged clip, with an engine that answers at once. */
export async function run(): Promise<Row[]> {
  const service = await startService()
  try {
    const keys = await makeOrganizations(service, ORGANIZATIONS)
    for (let warmed = 0; warmed < WARM; warmed += JOBS) await oneRound(service, [service.api_key])
    const one = await rounds(service, [service.api_key])
    const many = await rounds(service, keys)
    const broken = (await runAudit(service.db)).reduce((sum, { violations }) => sum + violations, 0)
    const name = 'Video pipeline, instant engine, jobs of one organization submitted and run'
    return [
      rowOf({
        name,
        unit: 'jobs/s',
        better: 'higher',
        rounds: ratesOf(one),
        limit: 800,
        yardsticks: [{ name: `jobs of ${ORGANIZATIONS} organizations`, rounds: ratesOf(many), ratio_limit: 0.9 }],
      }),
      rowOf({
        name: `${name}, Node and PostgreSQL`,
        unit: 'µs CPU',
        rounds: costsOf(one),
        limit: 2000,
        yardsticks: [{ name: `jobs of ${ORGANIZATIONS} organizations`, rounds: costsOf(many) }],
      }),
      rowOf({ name: `${name}, PostgreSQL`, unit: 'µs CPU', rounds: one.map(({ each }) => each.postgres) }),
      rowOf({
        name: `${name}, violations in the audit`,
        unit: 'violations',
        better: 'exact',
        rounds: [broken],
        limit: 0,
      }),
      ...(await heldSnapshot(service, one)),
    ]
  } finally {
    await service.stop()
  }
}

/** How many rounds are judged at the end of a snapshot: a single one may meet a stolen second. */
const LAST_ROUNDS = 5

/**
 * Runs jobs while an open transaction prevents vacuum from removing old row versions, as a dump does. The CPU time of a job is compared
 * beside the rate, since it says the same on a machine whose host takes time away.
 */
async function heldSnapshot(service: BenchService, before: readonly Measured[]): Promise<Row[]> {
  const client = await service.pool.connect()
  const measured: Measured[] = []
  try {
    await client.query('set idle_in_transaction_session_timeout = 0')
    await client.query('begin isolation level repeatable read')
    await client.query('select count(*) from video_jobs')
    const until = performance.now() + SNAPSHOT_SECONDS * 1000
    do measured.push(await oneRound(service, [service.api_key]))
    while (performance.now() < until)
  } finally {
    await client.query('rollback')
    client.release(true)
  }
  const last = measured.slice(-LAST_ROUNDS)
  const name = `Video pipeline, at the end of ${SNAPSHOT_SECONDS} s with a snapshot held open`
  return [
    rowOf({
      name,
      unit: 'jobs/s',
      better: 'higher',
      rounds: ratesOf(last),
      yardsticks: [{ name: 'before', rounds: ratesOf(before), ratio_limit: 0.9 }],
    }),
    rowOf({
      name: `${name}, Node and PostgreSQL`,
      unit: 'µs CPU',
      rounds: costsOf(last),
      yardsticks: [{ name: 'before', rounds: costsOf(before) }],
    }),
  ]
}

function ratesOf(measured: readonly Measured[]): number[] {
  return measured.map(({ rate }) => rate)
}

function costsOf(measured: readonly Measured[]): number[] {
  return measured.map(({ each }) => totalOf(each))
}

async function rounds(service: BenchService, keys: readonly string[]): Promise<Measured[]> {
  const all: Measured[] = []
  for (let round = 0; round < ROUNDS; round++) all.push(await oneRound(service, keys))
  return all
}

async function oneRound(service: BenchService, keys: readonly string[]): Promise<Measured> {
  const started = performance.now()
  const { spent } = await spentOn(service, async () => {
    await allEnded(service, await submit(service, keys))
  })
  return { rate: JOBS / ((performance.now() - started) / 1000), each: spentEach(spent, JOBS) }
}

/** Returns the ids of the jobs, in the order in which they were accepted. */
export async function submit({ url }: BenchService, keys: readonly string[], jobs = JOBS): Promise<string[]> {
  const ids: string[] = []
  const pool = new Pool(url, { connections: CALLERS })
  let sent = 0
  const call = async (): Promise<void> => {
    while (sent < jobs) {
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

/** Resolves once all of them have completed; throws for one that failed. Checks the newest jobs that may be unfinished, by their ids: counting unfinished jobs would read every row version that a snapshot keeps. */
export async function allEnded({ pool }: BenchService, ids: string[]): Promise<void> {
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
