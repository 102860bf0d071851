import type { Context } from '../context.ts'
import { addSeconds } from '../platform/clock.ts'
import { ApiError, notFound } from '../platform/errors.ts'
import { settle } from './advance.ts'
import { isTerminal } from './job.ts'
import { CANCEL_QUEUE, CANCEL_TOPIC, VIDEO_TOPIC } from './queues.ts'
import { servedModel } from './served-model.ts'
import { changeStatus, findJob, findJobOfAnyOrg, type VideoJobRow } from './store.ts'

/** An engine that cannot be told for this long will have finished by itself. */
const TELL_ENGINE_SECONDS = 3600

/**
 * Cancels a job: the reservation is released at once, the engine is told afterwards, and what it still delivers is discarded.
 * A canceled job stays as it is. Throws ApiError `not_found`, or `conflict` when the job has completed or failed.
 */
export async function cancelJob(
  ctx: Pick<Context, 'db' | 'clock' | 'wakes' | 'changes'>,
  { org_id, id }: { org_id: string; id: string },
): Promise<VideoJobRow> {
  for (;;) {
    const job = await findJob(ctx.db, org_id, id)
    if (!job) throw notFound('video')
    if (job.status === 'canceled') return job
    if (isTerminal(job.status)) {
      throw new ApiError('conflict', `This job has ${job.status} and can no longer be canceled. Delete it instead.`)
    }
    const canceled = await endAsCanceled(ctx, job)
    if (!canceled) continue
    ctx.changes.announce(VIDEO_TOPIC, id)
    ctx.changes.announce(CANCEL_TOPIC, id)
    return canceled
  }
}

/** Null when the status moved in the meantime. */
async function endAsCanceled(
  ctx: Pick<Context, 'db' | 'clock' | 'wakes'>,
  job: VideoJobRow,
): Promise<VideoJobRow | null> {
  const now = ctx.clock.now()
  return ctx.db.transaction().execute(async (tx) => {
    const row = await changeStatus(tx, { id: job.id, status: job.status, claim_id: null }, { to: 'canceled', now })
    if (!row) return null
    await settle(tx, row, now)
    if (row.ticket !== null) await ctx.wakes.wake(tx, CANCEL_QUEUE, row.id)
    return row
  })
}

/** Tells the engine of a canceled job to stop. Throws when it could not be told, so that it is tried again. */
export async function cancelAtEngine(ctx: Context, id: string): Promise<void> {
  const job = await findJobOfAnyOrg(ctx.db, id)
  if (job?.status !== 'canceled' || job.ticket === null) return
  if (ctx.clock.now() > addSeconds(job.finished_at!, TELL_ENGINE_SECONDS)) return
  await servedModel(ctx, job)?.engine.cancel(job.ticket)
}
