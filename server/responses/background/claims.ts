import { sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import { type Claims, claimsOn, type QueueTable } from '../../platform/queue/claims.ts'
import type { ObservedQueue } from '../../platform/queue/depth.ts'
import { RESPONSE_QUEUE, type ResponseRow } from '../stored/store/responses.ts'

/** A background response that one worker has claimed. */
export type ClaimedResponse = ResponseRow & { claim_id: string; request: NonNullable<ResponseRow['request']> }

const OPEN: QueueTable = { table: 'responses', due: 'next_run_at', open: sql`finished_at is null` }

/** Claims on background responses that have not ended. Each claim counts as an attempt. */
export const responseClaims: Claims<ClaimedResponse> = claimsOn({
  ...OPEN,
  also: sql`, attempts = attempts + 1`,
})

/** For metrics. */
export const responseQueues: readonly ObservedQueue[] = [
  { ...OPEN, queue: RESPONSE_QUEUE, state: sql`status`, states: ['queued', 'in_progress'] },
]

/** Releases claims before the runs have ended. `counts`: whether their attempts still count. */
export async function releaseResponses(
  db: Db,
  claimed: ReadonlyArray<{ id: string; claim_id: string }>,
  { counts, not_before }: { counts: boolean; not_before: Date },
): Promise<void> {
  const ids = claimed.map(({ id }) => id)
  const claims = claimed.map(({ claim_id }) => claim_id)
  await sql`
    update responses r set claim_id = null, claimed_until = null, next_run_at = ${not_before},
      attempts = attempts - ${counts ? 0 : 1}::int
    from unnest(${ids}::text[], ${claims}::text[]) as held (id, claim_id)
    where r.id = held.id and r.claim_id = held.claim_id`.execute(db)
}
