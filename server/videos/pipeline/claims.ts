import { sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import { type Claims, claimsOn, type QueueTable } from '../../platform/queue/claims.ts'
import type { ObservedQueue } from '../../platform/queue/depth.ts'
import { isTerminal, STATUSES } from '../job.ts'
import { CANCEL_QUEUE, VIDEO_QUEUE } from '../queues.ts'
import type { VideoJobRow } from '../store.ts'

const OPEN: QueueTable = { table: 'video_jobs', due: 'next_run_at', open: sql`finished_at is null` }
const CANCELED: QueueTable = { table: 'video_jobs', due: 'cancel_due_at', open: sql`cancel_due_at is not null` }

/** Jobs that have not ended, due by their next step. */
export const videoClaims: Claims<VideoJobRow> = claimsOn(OPEN)

/** Canceled jobs whose engine is still to be asked to stop the render. */
export const cancelClaims: Claims<VideoJobRow> = claimsOn(CANCELED)

/** For metrics. */
export const videoQueues: readonly ObservedQueue[] = [
  { ...OPEN, queue: VIDEO_QUEUE, state: sql`status`, states: STATUSES.filter((status) => !isTerminal(status)) },
  { ...CANCELED, queue: CANCEL_QUEUE, state: sql`status`, states: ['canceled'] },
]

/** Ends a claim on a canceled job: its engine is asked again at `again`, or never when null. */
export async function askedToStop(
  db: Db,
  { id, claim_id }: { id: string; claim_id: string | null },
  again: Date | null,
): Promise<void> {
  await db
    .updateTable('video_jobs')
    .set({ cancel_due_at: again, claim_id: null, claimed_until: null })
    .where('id', '=', id)
    .where('claim_id', '=', claim_id)
    .where('status', '=', 'canceled')
    .execute()
}
