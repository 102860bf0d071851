import { placeHold, placeHolds } from '../../billing/holds.ts'
import type { Context } from '../../context.ts'
import type { Tx } from '../../platform/db/db.ts'
import { writeGroupOrEach } from '../../platform/db/groups.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { QUEUE_TOPIC } from '../../platform/queue/worker.ts'
import { takingTurnsAs } from '../../platform/turns.ts'
import { VIDEO_QUEUE } from '../queues.ts'
import { insertJobs, type NewVideoJob } from '../store.ts'
import { type Reservation, rememberJob } from './idempotency.ts'

export type Admission = { job: NewVideoJob; running_max: number; reservation: Reservation | null }

/**
 * Holds the money and stores the job, due at once, in one transaction. Jobs of one organization would queue for its account's row, one
 * commit each, so jobs that arrive during a commit share the next one.
 * Throws ApiError `insufficient_credits`, `concurrency_limit_exceeded`, or `idempotency_in_progress` when the reservation was lost.
 */
export async function admitJob(ctx: AdmitContext, admission: Admission): Promise<void> {
  const { org_id } = admission.job
  await ctx.groups.join(`video-admissions/${org_id}`, admission, (group) =>
    takingTurnsAs(org_id, () => writeGroupOrEach(group, (some) => storeJobs(ctx, some))),
  )
  ctx.changes.announce(QUEUE_TOPIC, VIDEO_QUEUE)
}

type AdmitContext = Pick<Context, 'db' | 'groups' | 'changes'>

/** Stores several jobs in one commit. Throws NotAllFit when they do not all fit, so that each is tried on its own. */
async function storeJobs(ctx: AdmitContext, admissions: readonly Admission[]): Promise<true[]> {
  if (admissions.length === 1) await storeOne(ctx, admissions[0]!)
  else {
    await ctx.db.transaction().execute(async (tx) => {
      await insertJobs(
        tx,
        admissions.map(({ job }) => job),
      )
      for (const admission of admissions) await remember(tx, admission)
      if (!(await placeHolds(tx, admissions.map(holdOf)))) throw new NotAllFit()
      failpoint('within_create')
    })
  }
  return admissions.map(() => true)
}

class NotAllFit extends Error {}

async function storeOne(ctx: AdmitContext, admission: Admission): Promise<void> {
  await ctx.db.transaction().execute(async (tx) => {
    await insertJobs(tx, [admission.job])
    await remember(tx, admission)
    await placeHold(tx, holdOf(admission)) // 402, 429
    failpoint('within_create')
  })
}

async function remember(tx: Tx, { job, reservation }: Admission): Promise<void> {
  const { id: job_id, cost, currency, created_at } = job
  if (reservation) await rememberJob(tx, reservation, { job_id, cost, currency, created_at })
}

function holdOf({ job, running_max }: Admission) {
  const { id: job_id, org_id, cost: amount, created_at: now } = job
  return { job_id, org_id, amount, running_max, now }
}
