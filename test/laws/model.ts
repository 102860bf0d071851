import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { runAudit } from '../../server/audit/audit.ts'
import { isTerminal, type JobStatus, TRANSITIONS } from '../../server/videos/job.ts'
import { runJob } from '../../server/videos/pipeline/step.ts'
import { findRunningJobOfAnyOrg } from '../../server/videos/pipeline/store.ts'
import { PAID_STARTS_MAX } from '../../server/videos/render/attempt.ts'
import type { Person } from '../support/http/people.ts'
import { cancel, grant, RENDERS, remove, type Script, type ScriptedApp, starts, submit } from './scripted-app.ts'

export const SLOTS = 4
/** Prices a second, old and new: the operator changes them while jobs are in flight. */
export const PRICES = [1_000_000n, 2_500_000n, 333_300n]

/** What the books must say, kept by hand. */
export type Model = {
  balance: bigint
  jobs: Map<string, { cost: bigint; status: JobStatus }>
  price: number
  keys: Map<string, string>
}
/** One service for each price, on one database. */
export type Real = { prices: ScriptedApp[]; payer: Person; script: Script }

type Command = fc.AsyncCommand<Model, Real>

/** Everything that can happen to the jobs of one organization. */
export const COMMANDS: fc.Arbitrary<Command>[] = [
  fc.record({ seconds: fc.integer({ min: 4, max: 15 }) }).map((given) => submits(given)),
  fc.record({ seconds: fc.integer({ min: 4, max: 6 }) }).map((given) => submits(given)),
  fc.record({ seconds: fc.constant(4), key: fc.constantFrom('a', 'b') }).map((given) => submits(given)),
  fc.nat(20).map((nth) => cancels(nth)),
  fc.nat(20).map((nth) => removes(nth)),
  fc.constant(named('tick', async (_model, { prices }) => prices[0]!.tick())),
  fc.constant(named('tick', async (_model, { prices }) => prices[0]!.tick())),
  fc
    .constantFrom(1, 10, 100, 700)
    .map((seconds) => named(`clock +${seconds}`, async (_model, { prices }) => prices[0]!.clock.advance(seconds))),
  fc
    .constantFrom(...RENDERS)
    .map((render) => named(`render ${render}`, async (_model, { script }) => void Object.assign(script, { render }))),
  fc
    .constantFrom(...(['allow', 'allow', 'block', 'down'] as const))
    .map((moderation) =>
      named(`moderation ${moderation}`, async (_model, { script }) => void Object.assign(script, { moderation })),
    ),
  fc.integer({ min: -30_000_000, max: 60_000_000 }).map((amount) => grants(BigInt(amount))),
  fc
    .nat(PRICES.length - 1)
    .map((price) => named(`price ${price}`, async (model) => void Object.assign(model, { price }))),
  fc.nat(20).map((nth) => staleWorker(nth)),
  fc.nat(20).map((nth) => atOnce(nth)),
]

function submits({ seconds, key }: { seconds: number; key?: string }): Command {
  return named(`submit ${seconds} s${key ? ` with ${key}` : ''}`, async (model, { prices, payer }) => {
    const cost = PRICES[model.price]! * BigInt(seconds)
    const remembered = key === undefined ? undefined : model.keys.get(key)
    const { held, running } = inFlight(model)
    const expected = remembered ? 200 : model.balance - held < cost ? 402 : running >= SLOTS ? 429 : 200
    const { status, body } = await submit(prices[model.price]!, payer, {
      seconds,
      ...(key ? { key: `${payer.org_id} ${key}` } : {}),
    })
    assert.equal(status, expected, JSON.stringify(body))
    if (remembered) return assert.equal(body.id, remembered)
    if (status !== 200) return
    model.jobs.set(body.id, { cost, status: 'moderating' })
    if (key) model.keys.set(key, body.id)
  })
}

function cancels(nth: number): Command {
  return named(`cancel ${nth}`, async (model, { prices, payer }) => {
    const [id, job] = pick(model, nth)
    if (!job) return
    const { status } = await cancel(prices[0]!, payer, id)
    const expected = job.status === 'completed' || job.status === 'failed' ? 409 : 200
    assert.equal(status, expected)
    if (status === 200) job.status = 'canceled'
  })
}

function removes(nth: number): Command {
  return named(`delete ${nth}`, async (model, { prices, payer }) => {
    const [id, job] = pick(model, nth)
    if (!job) return
    const { status } = await remove(prices[0]!, payer, id)
    assert.equal(status, isTerminal(job.status) ? 200 : 409)
    if (status === 200) model.jobs.delete(id)
  })
}

function grants(amount: bigint): Command {
  return named(`grant ${amount}`, async (model, { prices, payer }) => {
    await grant(prices[0]!, payer.org_id, amount)
    model.balance += amount
  })
}

/** A worker that read the job before it was canceled, and goes on as if it had not been. */
function staleWorker(nth: number): Command {
  return named(`stale worker ${nth}`, async (model, { prices, payer }) => {
    const [id, job] = pick(model, nth)
    if (!job || isTerminal(job.status)) return
    const { ctx } = prices[0]!
    const seen = (await findRunningJobOfAnyOrg(ctx.db, id))!
    assert.equal((await cancel(prices[0]!, payer, id)).status, 200)
    job.status = 'canceled'
    await runJob(ctx, { ...seen, claim_id: null }, { signal: new AbortController().signal, faults: new Map() })
  })
}

/** Two workers, a cancellation and a deletion, all at once. */
function atOnce(nth: number): Command {
  return named(`at once ${nth}`, async (model, { prices, payer }) => {
    const [id, job] = pick(model, nth)
    if (!job || isTerminal(job.status)) return
    const { ctx } = prices[0]!
    const seen = (await findRunningJobOfAnyOrg(ctx.db, id))!
    const worker = () =>
      runJob(ctx, { ...seen, claim_id: null }, { signal: new AbortController().signal, faults: new Map() })
    const [, , , removed] = await Promise.all([
      worker(),
      worker(),
      cancel(prices[1]!, payer, id),
      remove(prices[0]!, payer, id),
    ])
    const left = await findRunningJobOfAnyOrg(ctx.db, id)
    assert.equal(left === null, removed.status === 200)
    if (left) return void observe(model, id, left.status)
    const charge = await ctx.db.selectFrom('ledger_entries').select('id').where('job_id', '=', id).executeTakeFirst()
    observe(model, id, charge ? 'completed' : 'canceled')
    model.jobs.delete(id)
  })
}

/** A command that, once it has run, compares all the books with the model. */
function named(name: string, run: (model: Model, real: Real) => Promise<unknown>): Command {
  return {
    check: () => true,
    async run(model, real) {
      await run(model, real)
      await compare(model, real)
    },
    toString: () => name,
  }
}

async function compare(model: Model, { prices, payer }: Real): Promise<void> {
  const app = prices[0]!
  const { rows } = await app.database.pool.query('select id, status, cost from video_jobs where org_id = $1', [
    payer.org_id,
  ])
  assert.deepEqual(new Set(rows.map(({ id }) => id)), new Set(model.jobs.keys()))
  for (const { id, status, cost } of rows) {
    observe(model, id, status)
    assert.equal(cost, model.jobs.get(id)!.cost, 'a quote never changes')
  }
  const account = await app.database.pool.query(
    `select balance, held, running, (select coalesce(sum(amount), 0)::bigint from ledger_entries e where e.org_id = a.org_id) as entries
     from accounts a where org_id = $1`,
    [payer.org_id],
  )
  assert.deepEqual(account.rows[0], { balance: model.balance, ...inFlight(model), entries: model.balance })
}

/** Takes over what became of a job, if it could become that; a completed one has been paid for. */
function observe(model: Model, id: string, status: JobStatus): void {
  const job = model.jobs.get(id)!
  if (job.status === status) return
  assert.ok(reachable(job.status).has(status), `${job.status} became ${status}`)
  job.status = status
  if (status === 'completed') model.balance -= job.cost
}

function reachable(from: JobStatus): Set<JobStatus> {
  const found = new Set<JobStatus>()
  const look = (status: JobStatus): void => {
    for (const next of TRANSITIONS[status]) {
      if (found.has(next)) continue
      found.add(next)
      look(next)
    }
  }
  look(from)
  return found
}

function inFlight(model: Model): { held: bigint; running: number } {
  const running = [...model.jobs.values()].filter(({ status }) => !isTerminal(status))
  return { held: running.reduce((sum, { cost }) => sum + cost, 0n), running: running.length }
}

function pick({ jobs }: Model, nth: number): [string, { cost: bigint; status: JobStatus }] | [string, null] {
  const all = [...jobs]
  return all.length === 0 ? ['', null] : all[nth % all.length]!
}

/** No violation, by the time of the hand-moved clock, and no job that cost its operator more than two renders. */
export async function assertClean(app: ScriptedApp): Promise<void> {
  const broken = (await runAudit(app.ctx.db, app.clock.now())).filter(({ violations }) => violations > 0)
  assert.ok(isDeepStrictEqual(broken, []), JSON.stringify(broken))
  for (const [id, count] of starts) assert.ok(count <= PAID_STARTS_MAX, `${id} was started ${count} times`)
}
