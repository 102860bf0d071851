import type { Context } from '../context.ts'
import { addSeconds } from '../platform/clock.ts'
import type { Sweep } from '../platform/sweep.ts'
import { RESPONSE_QUEUE, RESPONSE_TOPIC } from './queues.ts'
import { deleteResponsesEndedBefore } from './store.ts'
import { releaseExpiredClaims, takeOverdue } from './store-claims.ts'

/** Stored responses, with what was asked and answered, are deleted this long after they ended. */
export const RESPONSE_RETENTION_SECONDS = 30 * 86_400

const BATCH = 500
/** A response due for this long without a worker has lost its wake-up, or its queue is long; one more wake-up does no harm. */
const OVERDUE_SECONDS = 30

/** The periodic duties of responses. */
export function responseSweeps(ctx: Context): Sweep[] {
  return [
    { name: 'responses.wake', every_seconds: 2, run: () => wakeForgottenResponses(ctx) },
    { name: 'responses.retention', every_seconds: 300, run: () => removeOldResponses(ctx) },
  ]
}

/** Wakes responses whose worker died, and those under way that nobody has although they are due. */
export async function wakeForgottenResponses(ctx: Pick<Context, 'db' | 'clock' | 'wakes' | 'log'>): Promise<void> {
  const now = ctx.clock.now()
  const orphans = await releaseExpiredClaims(ctx.db)
  const overdue = await takeOverdue(ctx.db, { before: addSeconds(now, -OVERDUE_SECONDS), now, limit: BATCH })
  const forgotten = [...new Set([...orphans, ...overdue])]
  if (forgotten.length === 0) return
  await ctx.wakes.wake(ctx.db, RESPONSE_QUEUE, forgotten)
  ctx.log.warn('responses_woken', { count: forgotten.length })
}

export async function removeOldResponses(ctx: Pick<Context, 'db' | 'clock' | 'changes'>): Promise<void> {
  const before = addSeconds(ctx.clock.now(), -RESPONSE_RETENTION_SECONDS)
  for (;;) {
    const removed = await deleteResponsesEndedBefore(ctx.db, before, BATCH)
    for (const id of removed) ctx.changes.announce(RESPONSE_TOPIC, id)
    if (removed.length < BATCH) return
  }
}
