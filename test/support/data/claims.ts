import { sql } from 'kysely'
import type { Db } from '../../../server/platform/db/db.ts'
import { LEASE_SECONDS } from '../../../server/platform/queue/claims.ts'
import type { ClaimedResponse } from '../../../server/responses/background/claims.ts'
import { type Job, withAttempts } from '../../../server/videos/pipeline/store.ts'
import type { VideoJobRow } from '../../../server/videos/store.ts'

/** Takes one job, due or not, as a worker would have it: tests choose the order. Null when it has ended or a live worker has it. */
export async function claimJob(db: Db, id: string, claim_id: string): Promise<Job | null> {
  const claimed = await claimRow<VideoJobRow>(db, { table: 'video_jobs', id, claim_id })
  return claimed && (await withAttempts(db, [claimed]))[0]!
}

/** The same for a background response, whose attempt is counted. */
export async function claimResponse(db: Db, id: string, claim_id: string): Promise<ClaimedResponse | null> {
  const claimed = await claimRow<ClaimedResponse>(db, { table: 'responses', id, claim_id })
  if (!claimed) return null
  await sql`update responses set attempts = attempts + 1 where id = ${id}`.execute(db)
  return { ...claimed, attempts: claimed.attempts + 1 }
}

async function claimRow<Row>(
  db: Db,
  { table, id, claim_id }: { table: string; id: string; claim_id: string },
): Promise<Row | null> {
  const result = await sql<Row>`
    update ${sql.table(table)} set claim_id = ${claim_id}, claimed_until = now() + ${LEASE_SECONDS} * interval '1 second'
    where id = ${id} and finished_at is null and (claimed_until is null or claimed_until < now()) returning *`.execute(
    db,
  )
  return result.rows[0] ?? null
}
