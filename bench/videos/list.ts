import { median } from '../support/cpu.ts'
import { fire } from '../support/load.ts'
import type { Row } from '../support/row.ts'
import { type BenchService, startService } from '../support/service.ts'
import { perPiece, type Spent, spentOn } from '../support/spent.ts'
import { caller } from './create.ts'

const FEW = 1000
const MANY = 1_000_000
const BATCH = 100_000
const ROUNDS = 5
const SECONDS = 2

/** The first page and one from the depth, of an organization with a thousand jobs and then with a million. */
export async function run(): Promise<Row[]> {
  const service = await startService()
  try {
    await insertJobs(service, { from: 0, to: FEW })
    const few = { first: await costOfPage(service, ''), deep: await costOfPage(service, `?after=${idOf(FEW / 2)}`) }
    for (let from = FEW; from < MANY; from += BATCH)
      await insertJobs(service, { from, to: Math.min(from + BATCH, MANY) })
    const many = { first: await costOfPage(service, ''), deep: await costOfPage(service, `?after=${idOf(MANY / 2)}`) }
    return [
      row('GET /v1/videos at 1,000,000 jobs, first page', many.first, few.first),
      row('GET /v1/videos at 1,000,000 jobs, page from the middle', many.deep, few.deep),
    ]
  } finally {
    await service.stop()
  }
}

function row(name: string, many: Spent, few: Spent): Row {
  const ratio = total(many) / total(few)
  return {
    name,
    figure: perPiece(many, 1),
    yardstick: `${perPiece(few, 1)} at 1,000 jobs`,
    ratio: ratio.toFixed(2),
    budget: '≤ 1.5 × the page at 1,000 jobs',
    ok: ratio <= 1.5,
  }
}

/** CPU for one page, both processes: the median of several rounds. */
async function costOfPage(service: BenchService, query: string): Promise<Spent> {
  const url = `${service.url}/v1/videos${query}`
  const rounds: Spent[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const load = () => fire({ url, headers: caller(service), callers: 4, amount: { seconds: SECONDS } })
    const { result, spent } = await spentOn(service, load)
    if (result.ok !== result.answers) throw new Error(`a page was refused: ${url}`)
    // The first round only warms up.
    if (round > 0) rounds.push({ node: spent.node / result.ok, postgres: spent.postgres / result.ok })
  }
  const middle = median(rounds.map(total))
  return rounds.find((each) => total(each) === middle)!
}

function total({ node, postgres }: Spent): number {
  return node + postgres
}

/** A valid id; ids of higher numbers are younger. */
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
  if (to % BATCH === 0 || to === FEW) await pool.query('vacuum analyze video_jobs')
}
