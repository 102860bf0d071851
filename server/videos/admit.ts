import { placeHold, placeHolds } from '../billing/holds.ts'
import type { Context } from '../context.ts'
import { isDatabaseDown } from '../platform/db.ts'
import { failpoint } from '../platform/failpoint.ts'
import { type Claim, rememberJob } from './idempotency.ts'
import { VIDEO_QUEUE } from './queues.ts'
import { insertJobs, type NewVideoJob } from './store.ts'

export type Admission = { job: NewVideoJob; running_max: number; claim: Claim | null }

/** Most jobs stored by one transaction. */
const TOGETHER_MAX = 50

/**
 * Sets the money aside and stores the job with its wake-up: all of it, or nothing. Jobs of one organization would wait for each other
 * at its account for the length of a commit each, so those that arrive while one commits are stored by the next together.
 * Throws ApiError `insufficient_credits`, `concurrency_limit_exceeded`, or `idempotency_in_progress` when the claim was lost.
 */
export function admitJob(ctx: Context, admission: Admission): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const lines = linesOf(ctx)
  const { org_id } = admission.job
  const line = lines.get(org_id)
  const caller = { admission, resolve, reject }
  if (line) {
    line.push(caller)
  } else {
    lines.set(org_id, [caller])
    void serve(ctx, lines, org_id)
  }
  return promise
}

type Caller = { admission: Admission; resolve: () => void; reject: (error: unknown) => void }
type Lines = Map<string, Caller[]>

/** Callers that wait, by organization. */
const waiting = new WeakMap<Context, Lines>()

function linesOf(ctx: Context): Lines {
  const lines = waiting.get(ctx) ?? new Map<string, Caller[]>()
  waiting.set(ctx, lines)
  return lines
}

/** Serves one line until nobody waits, and closes it in that same moment: whoever comes later opens another. */
async function serve(ctx: Context, lines: Lines, org_id: string): Promise<void> {
  const line = lines.get(org_id)!
  while (line.length > 0) {
    const callers = line.splice(0, TOGETHER_MAX)
    try {
      if (await storeTogether(ctx, callers)) for (const { resolve } of callers) resolve()
      else
        await Promise.all(
          callers.map(({ admission, resolve, reject }) => storeAlone(ctx, admission).then(resolve, reject)),
        )
    } catch (error) {
      for (const { reject } of callers) reject(error)
    }
  }
  lines.delete(org_id)
}

/** False when nothing was stored because not all of them can be: each is then to have its own answer. */
async function storeTogether(ctx: Context, callers: readonly Caller[]): Promise<boolean> {
  if (callers.length === 1) return false
  const admissions = callers.map(({ admission }) => admission)
  try {
    await ctx.db.transaction().execute(async (tx) => {
      await insertJobs(
        tx,
        admissions.map(({ job }) => job),
      )
      await ctx.wakes.wake(
        tx,
        VIDEO_QUEUE,
        admissions.map(({ job }) => job.id),
      )
      for (const admission of admissions) await remember(tx, admission)
      if (!(await placeHolds(tx, admissions.map(holdOf)))) throw new NotAllFit()
      failpoint('within_create')
    })
    return true
  } catch (error) {
    // After a commit whose answer was lost nobody knows what was stored.
    if (isDatabaseDown(error)) throw error
    return false
  }
}

class NotAllFit extends Error {}

async function storeAlone(ctx: Context, admission: Admission): Promise<void> {
  await ctx.db.transaction().execute(async (tx) => {
    await insertJobs(tx, [admission.job])
    await ctx.wakes.wake(tx, VIDEO_QUEUE, admission.job.id)
    await remember(tx, admission)
    await placeHold(tx, holdOf(admission)) // 402, 429
    failpoint('within_create')
  })
}

async function remember(tx: Parameters<typeof rememberJob>[0], { job, claim }: Admission): Promise<void> {
  const { id: job_id, cost, currency, created_at } = job
  if (claim) await rememberJob(tx, claim, { job_id, cost, currency, created_at })
}

function holdOf({ job, running_max }: Admission) {
  const { id: job_id, org_id, cost: amount, created_at: now } = job
  return { job_id, org_id, amount, running_max, now }
}
