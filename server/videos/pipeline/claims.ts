import { sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import { type Claims, claimsOn } from '../../platform/queue/claims.ts'
import type { VideoJobRow } from '../store.ts'

/** Jobs that have not ended, due by their next step. */
export const videoClaims: Claims<VideoJobRow> = claimsOn({
  table: 'video_jobs',
  due: 'next_run_at',
  open: sql`finished_at is null`,
})

/** Canceled jobs whose engine is still to be asked to stop the render. */
export const cancelClaims: Claims<VideoJobRow> = claimsOn({
  table: 'video_jobs',
  due: 'cancel_due_at',
  open: sql`cancel_due_at is not null`,
})

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
