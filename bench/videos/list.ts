import { fire } from '../support/load.ts'
import { alternate, amountOf } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'
import { type BenchService, caller, startService } from '../support/service.ts'
import { type Spent, spentEach, spentOn, totalOf } from '../support/spent.ts'

const FEW = 1000
const MANY = amountOf(1_000_000)
const BATCH = 100_000
/** Of one round. */
const PAGES = amountOf(2000)
const CALLERS = 4

/** Pages by what stands behind their address. Every job of the benchmark is `completed`, of one model. */
const PAGE_KINDS = [
  'first page',
  'page from the middle',
  'filtered by status and model',
  'filtered by a status that no job has',
] as const
type PageKind = (typeof PAGE_KINDS)[number]

/** Pages of a service with a thousand jobs and of one with a million, in turn, so that a slower minute counts for both. */
export async function run(): Promise<Row[]> {
  const few = await startService({ pinned: true })
  const many = await startService({ pinned: true })
  try {
    await insertJobs(few, { from: 0, to: FEW })
    for (let from = 0; from < MANY; from += BATCH) await insertJobs(many, { from, to: Math.min(from + BATCH, MANY) })
    const rows: Row[] = []
    for (const kind of PAGE_KINDS) {
      const pages = (service: BenchService, jobs: number) => (count: number) =>
        costOfPage(service, { query: queryOf(kind, jobs), count })
      const spent = await alternate({ few: pages(few, FEW), many: pages(many, MANY) }, { count: PAGES })
      const yardstick = { name: `at ${FEW} jobs`, rounds: spent.few.map(totalOf), ratio_limit: 1.2 }
      const name = `GET /v1/videos at ${MANY} jobs, ${kind}, Node and PostgreSQL`
      rows.push(rowOf({ name, unit: 'µs CPU', rounds: spent.many.map(totalOf), yardsticks: [yardstick] }))
    }
    return rows
  } finally {
    await many.stop()
    await few.stop()
  }
}

function queryOf(kind: PageKind, jobs: number): string {
  switch (kind) {
    case 'first page':
      return ''
    case 'page from the middle':
      return `?after=${idOf(jobs / 2)}`
    case 'filtered by status and model':
      return '?status=completed&model=instant-1'
    case 'filtered by a status that no job has':
      return '?status=canceled'
  }
}

/** CPU for one page, both processes. */
async function costOfPage(service: BenchService, { query, count }: { query: string; count: number }): Promise<Spent> {
  const url = `${service.url}/v1/videos${query}`
  const load = () => fire({ url, headers: caller(service), callers: CALLERS, amount: { requests: count } })
  const { result, spent } = await spentOn(service, load)
  if (result.ok !== result.answers) throw new Error(`a page was refused: ${url}`)
  return spentEach(spent, result.ok)
}

/** A valid id; ids of higher numbers are newer. */
function idOf(number: number): string {
  return `video_01${number.toString(16).toUpperCase().padStart(24, '0')}`
}

/** Completed jobs with every constraint satisfied, without running them. */
export async function insertJobs(service: BenchService, { from, to }: { from: number; to: number }): Promise<void> {
  const { pool, org_id, user_id } = service
  await pool.query(
    `insert into video_jobs (id, org_id, user_id, request_id, model, prompt, seconds, aspect_ratio, inputs, status, progress, per_second,
                             cost, currency, created_at, completed_at, finished_at, next_run_at, blob_key, output_sha256, output_size_bytes)
     select 'video_01' || lpad(upper(to_hex(i)), 24, '0'), $1, $2, 'req_bench', 'instant-1', 'A paper boat on a calm lake, number ' || i,
            4, '16:9', '[]', 'completed', 100, 1000000, 4000000, 'usd', now() - interval '20 days' + i * interval '1 second', now(), now(), now(),
            md5(i::text), md5(i::text) || md5(i::text), 1000
     from generate_series($3::int, $4::int - 1) as i`,
    [org_id, user_id, from, to],
  )
  if (to % BATCH === 0 || to === FEW || to === MANY) await pool.query('vacuum analyze video_jobs')
}
