import type { Context } from '../context.ts'
import { addSeconds } from '../platform/clock.ts'
import { RECLAIMED_TOPIC } from '../platform/queue/consumer.ts'
import type { Sweep } from '../platform/sweep.ts'
import { responseQueue } from './background/claims.ts'
import { deleteResponsesEndedBefore, RESPONSE_QUEUE, RESPONSE_TOPIC } from './stored/store/responses.ts'

/** Stored responses, with their input and output, are deleted this long after they ended. */
export const RESPONSE_RETENTION_SECONDS = 30 * 86_400

const BATCH = 500
/** Leases that ended just now. All others are looked for once a minute: the entries of past leases stay in the index while a snapshot is held. */
const RECENT = { expired_seconds_max: 30 }

/** The periodic duties of responses. */
export function responseSweeps(ctx: Context): Sweep[] {
  return [
    { name: 'responses.reclaim', every_seconds: 2, run: () => reclaimResponses(ctx, RECENT) },
    { name: 'responses.reclaim_all', every_seconds: 60, run: () => reclaimResponses(ctx, {}) },
    { name: 'responses.retention', every_seconds: 300, run: () => removeOldResponses(ctx) },
  ]
}

/** Releases responses whose consumer died. */
async function reclaimResponses(
  ctx: Pick<Context, 'db' | 'changes' | 'log'>,
  expired: { expired_seconds_max?: number },
): Promise<void> {
  const count = await responseQueue.claims.releaseExpired(ctx.db, expired)
  if (count === 0) return
  ctx.changes.announce(RECLAIMED_TOPIC, RESPONSE_QUEUE)
  ctx.log.warn('responses_reclaimed', { count })
}

async function removeOldResponses(ctx: Pick<Context, 'db' | 'clock' | 'changes'>): Promise<void> {
  const before = addSeconds(ctx.clock.now(), -RESPONSE_RETENTION_SECONDS)
  for (;;) {
    const removed = await deleteResponsesEndedBefore(ctx.db, before, BATCH)
    for (const id of removed) ctx.changes.announce(RESPONSE_TOPIC, id)
    if (removed.length < BATCH) return
  }
}
