import { claimsOn } from '../platform/claims.ts'
import type { Db } from '../platform/db.ts'
import type { VideoJobRow } from './store.ts'

const { claim, ...rest } = claimsOn('video_jobs')
export const { renewClaims, releaseAllClaims, releaseExpiredClaims, takeOverdue } = rest

/** Takes a job for one worker. Null when it has ended or a live worker has it. */
export function claimJob(db: Db, id: string, claim_id: string): Promise<VideoJobRow | null> {
  return claim<VideoJobRow>(db, { id, claim_id })
}

/** Gives a job back, due at `next_run_at` as its last step left it. */
export async function releaseClaim(db: Db, claim_id: string, id: string): Promise<void> {
  await db
    .updateTable('video_jobs')
    .set({ claim_id: null, claimed_until: null })
    .where('id', '=', id)
    .where('claim_id', '=', claim_id)
    .execute()
}
