import { setTimeout as sleep } from 'node:timers/promises'
import { runAudit } from '../server/billing/audit.ts'
import { median } from './cpu.ts'
import { BODY, caller } from './create-video.ts'
import { fire } from './load.ts'
import type { Row } from './row.ts'
import { type BenchService, startService } from './service.ts'
import { perPiece, spentOn } from './spent.ts'

const JOBS = 2000
const CALLERS = 50
const ROUNDS = 3

/** Jobs from submission to a stored, probed and charged clip, with an engine that answers at once. */
export async function run(): Promise<Row[]> {
  const service = await startService()
  try {
    const rates: number[] = []
    const costs: string[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const started = performance.now()
      const { spent } = await spentOn(service, async () => {
        await submit(service)
        await allEnded(service)
      })
      rates.push(JOBS / ((performance.now() - started) / 1000))
      costs.push(perPiece(spent, JOBS))
    }
    const rate = median(rates)
    const broken = (await runAudit(service.db)).reduce((sum, { violations }) => sum + violations, 0)
    return [
      {
        name: `Video pipeline, instant engine, ${JOBS} jobs submitted and run`,
        figure: `${rate.toFixed(0)} jobs/s; ${costs[rates.indexOf(rate)]} a job; ${broken} violations in the audit`,
        yardstick: '—',
        ratio: '—',
        budget: '≥ 200 jobs/s, 0 violations',
        ok: rate >= 200 && broken === 0,
      },
    ]
  } finally {
    await service.stop()
  }
}

async function submit(service: BenchService): Promise<void> {
  const load = {
    url: `${service.url}/v1/videos`,
    method: 'POST',
    headers: caller(service),
    body: BODY,
    callers: CALLERS,
  } as const
  const { ok } = await fire({ ...load, amount: { requests: JOBS } })
  if (ok !== JOBS) throw new Error(`only ${ok} of ${JOBS} jobs were accepted`)
}

async function allEnded({ pool }: BenchService): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ open: bigint }>(
      'select count(*) as open from video_jobs where finished_at is null',
    )
    if (rows[0]!.open === 0n) break
    await sleep(100)
  }
  const { rows } = await pool.query<{ count: bigint }>("select count(*) from video_jobs where status <> 'completed'")
  if (rows[0]!.count > 0n) throw new Error(`${rows[0]!.count} jobs did not complete`)
}
