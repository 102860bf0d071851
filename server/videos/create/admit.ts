import { placeHolds } from '../../billing/holds.ts'
import type { Context } from '../../context.ts'
import type { Tx } from '../../platform/db/db.ts'
import { writeGroupOrEach } from '../../platform/db/groups.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { QUEUE_TOPIC } from '../../platform/queue/consumer.ts'
import { takingTurnsAs } from '../../platform/turns.ts'
import { VIDEO_QUEUE } from '../queues.ts'
import { insertJobs, type NewVideoJob } from '../store.ts'
import { type Reservation, rememberJobs } from './idempotency.ts'

/** Jobs of one request, which are accepted together or not at all. */
export type Admission = { jobs: readonly NewVideoJob[]; running_max: number; reservation: Reservation | null }

/**
 * Holds the money and stores the jobs, due at once, in one transaction. Requests of one organization would queue for its account's row, one
 * commit each, so those that arrive during a commit share the next one.
 * Throws ApiError `insufficient_credits`, `concurrency_limit_exceeded`, or `idempotency_in_progress` when the reservation was lost.
 */
export async function admitJobs(ctx: AdmitContext, admission: Admission): Promise<void> {
  const { org_id } = admission.jobs[0]!
  await ctx.groups.join(`video-admissions/${org_id}`, admission, (group) =>
    takingTurnsAs(org_id, () => writeGroupOrEach(group, (some) => storeJobs(ctx, some))),
  )
  ctx.changes.announce(QUEUE_TOPIC, VIDEO_QUEUE)
}

type AdmitContext = Pick<Context, 'db' | 'groups' | 'changes'>

/** Stores the jobs of several requests in one commit. When they do not all fit it throws, and each request is tried on its own. */
async function storeJobs(ctx: AdmitContext, admissions: readonly Admission[]): Promise<true[]> {
  await ctx.db.transaction().execute(async (tx) => {
    await insertJobs(
      tx,
      admissions.flatMap(({ jobs }) => jobs),
    )
    for (const admission of admissions) await remember(tx, admission)
    await placeHolds(tx, admissions.flatMap(holdsOf)) // 402, 429
    failpoint('within_create')
  })
  return admissions.map(() => true)
}

async function remember(tx: Tx, { jobs, reservation }: Admission): Promise<void> {
  const { cost, currency, created_at } = jobs[0]!
  const job_ids = jobs.map(({ id }) => id)
  if (reservation) await rememberJobs(tx, reservation, { job_ids, cost, currency, created_at })
}

function holdsOf({ jobs, running_max }: Admission) {
  return jobs.map(({ id, org_id, cost, created_at }) => {
    return { job_id: id, org_id, amount: cost, running_max, now: created_at }
  })
}
