import { placeHold, placeHolds } from '../../billing/holds.ts'
import type { Context } from '../../context.ts'
import { isDatabaseDown } from '../../platform/db/db.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { QUEUE_TOPIC } from '../../platform/queue/worker.ts'
import { VIDEO_QUEUE } from '../queues.ts'
import { insertJobs, type NewVideoJob } from '../store.ts'
import { type Claim, rememberJob } from './idempotency.ts'

export type Admission = { job: NewVideoJob; running_max: number; claim: Claim | null }

/**
 * Sets the money aside and stores the job, due at once: all of it, or nothing. Jobs of one organization would wait for each other
 * at its account for the length of a commit each, so those that arrive while one commits are stored by the next together.
 * Throws ApiError `insufficient_credits`, `concurrency_limit_exceeded`, or `idempotency_in_progress` when the claim was lost.
 */
export async function admitJob(ctx: AdmitContext, admission: Admission): Promise<void> {
  await ctx.groups.join(`video-admissions/${admission.job.org_id}`, admission, (together) => storeAll(ctx, together))
  ctx.changes.announce(QUEUE_TOPIC, VIDEO_QUEUE)
}

type AdmitContext = Pick<Context, 'db' | 'groups' | 'changes'>

/** All in one commit; when that cannot be, because not all of them fit, each has its own answer. */
async function storeAll(ctx: AdmitContext, admissions: readonly Admission[]): Promise<Array<true | Error>> {
  if (await storeTogether(ctx, admissions)) return admissions.map(() => true)
  return Promise.all(
    admissions.map((admission) =>
      storeAlone(ctx, admission).then(
        () => true as const,
        (error: Error) => error,
      ),
    ),
  )
}

/** False when nothing was stored because not all of them can be: each is then to have its own answer. */
async function storeTogether(ctx: AdmitContext, admissions: readonly Admission[]): Promise<boolean> {
  if (admissions.length === 1) return false
  try {
    await ctx.db.transaction().execute(async (tx) => {
      await insertJobs(
        tx,
        admissions.map(({ job }) => job),
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

async function storeAlone(ctx: AdmitContext, admission: Admission): Promise<void> {
  await ctx.db.transaction().execute(async (tx) => {
    await insertJobs(tx, [admission.job])
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
