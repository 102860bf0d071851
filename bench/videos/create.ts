import { createServer, type Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { runAudit } from '../../server/audit/audit.ts'
import { grantCredits } from '../../server/billing/ledger.ts'
import { median } from '../support/cpu.ts'
import { fire } from '../support/load.ts'
import type { Row } from '../support/row.ts'
import { BENCH_CONFIG, type BenchService, startService } from '../support/service.ts'
import { perPiece, spentOn } from '../support/spent.ts'

/** What one job costs, and a valid body for it. */
export const COST = 4_000_000n
export const BODY = JSON.stringify({
  model: 'instant-1',
  prompt: 'A paper boat on a calm lake',
  seconds: 4,
  aspect_ratio: '16:9',
})

const CALLERS = 64
const ROUNDS = 3
/** Jobs the balance covers, and callers' attempts, in the race for the last credits. */
const AFFORDABLE = 100
const ATTEMPTS = 3000

/** Submissions of one organization, the hardest case: all meet at one account. Moderation is held, so nothing but admission runs. */
export async function run(): Promise<Row[]> {
  const silence = await openSilence()
  const service = await startService({ config: heldConfig(silence) })
  try {
    const rates: number[] = []
    const spents: Array<{ text: string; total: number }> = []
    for (let round = 0; round < ROUNDS; round++) {
      const { result, spent } = await spentOn(service, () => submit(service, { seconds: 4 }))
      rates.push(result.ok / result.seconds)
      spents.push({ text: perPiece(spent, result.ok), total: (spent.node + spent.postgres) / result.ok })
    }
    const rate = median(rates)
    const middle = spents[rates.indexOf(rate)]!
    return [
      {
        name: `POST /v1/videos, ${CALLERS} callers of one organization`,
        figure: `${Math.round(rate)} jobs/s; ${middle.text} a job`,
        yardstick: '—',
        ratio: '—',
        budget: '≥ 2000 jobs/s, ≤ 800 µs',
        ok: rate >= 2000 && middle.total <= 800,
      },
      await race(service),
    ]
  } finally {
    await service.stop()
    silence.close()
  }
}

/** Headers of a caller with the service's first key. */
export function caller(service: Pick<BenchService, 'api_key'>): Record<string, string> {
  return { authorization: `Bearer ${service.api_key}`, 'content-type': 'application/json' }
}

function submit(service: BenchService, amount: { seconds: number } | { requests: number }) {
  const url = `${service.url}/v1/videos`
  return fire({ url, method: 'POST', headers: caller(service), body: BODY, callers: CALLERS, amount })
}

/** Leaves credit for a few jobs and lets many callers fight for it. */
async function race(service: BenchService): Promise<Row> {
  const { db, org_id } = service
  const amount = COST * BigInt(AFFORDABLE) - (await settledCredit(service))
  await db
    .transaction()
    .execute((tx) => grantCredits(tx, { org_id, amount, note: 'Bench', user_id: null, now: new Date() }))
  const { ok: admitted, answers } = await submit(service, { requests: ATTEMPTS })
  const broken = (await runAudit(db)).reduce((sum, { violations }) => sum + violations, 0)
  return {
    name: 'POST /v1/videos, race for the last credits',
    figure: `${admitted} admitted of ${answers} attempts, ${broken} violations in the audit`,
    yardstick: `balance for ${AFFORDABLE}`,
    ratio: (admitted / AFFORDABLE).toFixed(2),
    budget: `exactly ${AFFORDABLE}, 0 violations`,
    ok: admitted === AFFORDABLE && broken === 0,
  }
}

/** What is left once the last answers of the load before are through. */
async function settledCredit({ pool, org_id }: BenchService): Promise<bigint> {
  for (let last = -1n; ; ) {
    const { rows } = await pool.query<{ credit: bigint }>(
      'select balance - held as credit from accounts where org_id = $1',
      [org_id],
    )
    if (rows[0]!.credit === last) return last
    last = rows[0]!.credit
    await sleep(500)
  }
}

/** Takes connections and never says a word. */
async function openSilence(): Promise<Server> {
  const server = createServer((socket) => socket.resume().on('error', () => {}))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server.unref()
}

function heldConfig(silence: Server): string {
  const { port } = silence.address() as { port: number }
  const engine = `{ kind: openai-moderations, base_url: "http://127.0.0.1:${port}", api_key: none, model: none }`
  return `${BENCH_CONFIG}moderation: { engine: ${engine} }\n`
}
