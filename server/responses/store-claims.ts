import { sql } from 'kysely'
import { claimsOn } from '../platform/claims.ts'
import type { Db } from '../platform/db.ts'
import type { ResponseRow } from './store.ts'

const { claim, ...rest } = claimsOn('responses')
export const { renewClaims, releaseAllClaims, releaseExpiredClaims, takeOverdue } = rest

/** A background response in the hands of one worker. */
export type ClaimedResponse = ResponseRow & { claim_id: string; request: NonNullable<ResponseRow['request']> }

/** Takes a background response for one worker and counts the attempt. Null when it has ended or a live worker has it. */
export function claimResponse(db: Db, id: string, claim_id: string): Promise<ClaimedResponse | null> {
  return claim<ClaimedResponse>(db, { id, claim_id, also: sql`, attempts = attempts + 1` })
}

/** Gives a response back before its run has ended. `counts` says whether the attempt was its own fault. */
export async function releaseClaim(
  tx: Db,
  claimed: { id: string; claim_id: string },
  release: { counts: boolean; now: Date },
): Promise<void> {
  await sql`
    update responses set claim_id = null, claimed_until = null, next_run_at = ${release.now},
      attempts = attempts - ${release.counts ? 0 : 1}::int
    where id = ${claimed.id} and claim_id = ${claimed.claim_id}`.execute(tx)
}
