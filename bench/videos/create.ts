import { createServer, type Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { runAudit } from '../../server/audit/audit.ts'
import { grantCredits } from '../../server/billing/ledger.ts'
import { fire, type Load } from '../support/load.ts'
import { QUICK, ROUNDS, WARM } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'
import { BENCH_CONFIG, type BenchService, caller, startService } from '../support/service.ts'
import { type Spent, spentEach, spentOn, totalOf } from '../support/spent.ts'
import { makeOrganizations } from './many-organizations.ts'

/** What one job costs, and a valid body for it. */
export const COST = 4_000_000n
export const BODY = JSON.stringify({
  model: 'instant-1',
  prompt: 'A paper boat on a calm lake',
  seconds: 4,
  aspect_ratio: '16:9',
})

const CALLERS = 64
/** Of one round: a rate needs a length of time, since the client notices only once a second that it has sent enough. */
const SECONDS = QUICK ? 1 : 4
/** Jobs the balance covers, and callers' attempts, in the race for the last credits. */
const AFFORDABLE = 100
const ATTEMPTS = 3000

/** Submissions of one organization, the hardest case: all update one account. Moderation never answers, so that only admission runs. */
export async function run(): Promise<Row[]> {
  const silence = await openSilence()
  const service = await startService({ config: heldConfig(silence) })
  try {
    // Jobs never end here, and a plan allows 100,000 at a time: each round has an organization of its own.
    const [first, ...keys] = await makeOrganizations(service, ROUNDS + 1)
    await submit(service, { requests: WARM }, first)
    const own: Admitted[] = []
    for (const key of keys) own.push(await admit(service, key))
    const name = `POST /v1/videos, ${CALLERS} callers of one organization`
    return [
      rowOf({ name, unit: 'jobs/s', better: 'higher', rounds: own.map(({ rate }) => rate), limit: 2000 }),
      rowOf({
        name: `${name}, Node and PostgreSQL`,
        unit: 'µs CPU',
        rounds: own.map(({ each }) => totalOf(each)),
        limit: 800,
      }),
      rowOf({ name: `${name}, PostgreSQL`, unit: 'µs CPU', rounds: own.map(({ each }) => each.postgres) }),
      ...(await race(service)),
    ]
  } finally {
    await service.stop()
    silence.close()
  }
}

type Admitted = { rate: number; each: Spent }

async function admit(service: BenchService, key: string): Promise<Admitted> {
  const { result, spent } = await spentOn(service, () => submit(service, { seconds: SECONDS }, key))
  if (result.ok < result.answers) throw new Error(`${result.answers - result.ok} jobs were refused`)
  return { rate: result.ok / result.seconds, each: spentEach(spent, result.ok) }
}

/** From any core: a rate is what all cores can do together, and no side has a core by itself. */
function submit(service: BenchService, amount: Load['amount'], api_key = service.api_key) {
  const load = { url: `${service.url}/v1/videos`, method: 'POST' as const, headers: caller({ api_key }), body: BODY }
  return fire({ ...load, callers: CALLERS, amount, side: null })
}

/** Leaves credit for a few jobs and lets many callers compete for it. */
async function race(service: BenchService): Promise<Row[]> {
  const { db, org_id } = service
  const amount = COST * BigInt(AFFORDABLE) - (await settledCredit(service))
  await db
    .transaction()
    .execute((tx) => grantCredits(tx, { org_id, amount, note: 'Bench', user_id: null, now: new Date() }))
  const { ok: admitted } = await submit(service, { requests: ATTEMPTS })
  const broken = (await runAudit(db)).reduce((sum, { violations }) => sum + violations, 0)
  const name = `POST /v1/videos, race of ${ATTEMPTS} attempts for credit for ${AFFORDABLE}`
  return [
    rowOf({ name: `${name}, admitted`, unit: 'jobs', better: 'exact', rounds: [admitted], limit: AFFORDABLE }),
    rowOf({
      name: `${name}, violations in the audit`,
      unit: 'violations',
      better: 'exact',
      rounds: [broken],
      limit: 0,
    }),
  ]
}

/** The balance once the last answers of the previous load have arrived. */
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

/** Accepts connections and never answers. */
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
