import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../platform/db.ts'
import type { VideoJobRow } from './store.ts'

/** How long a claim holds without renewal. Shorter risks a second worker on a live job; longer delays recovery after a crash. */
export const LEASE_SECONDS = 10

/**
 * Takes a job for one worker. Null when it has ended or a live worker has it. Leases go by the clock of the database: they are about
 * processes that are alive now, not about calendar time.
 */
export async function claimJob(db: Db, id: string, claim_id: string): Promise<VideoJobRow | null> {
  const result = await sql<VideoJobRow>`
    update video_jobs set claim_id = ${claim_id}, claimed_until = now() + ${LEASE_SECONDS} * interval '1 second'
    where id = ${id} and finished_at is null and (claimed_until is null or claimed_until < now())
    returning *`.execute(db)
  return result.rows[0] ?? null
}

/** Renews the claims a process holds, and returns those that are still its own. */
export async function renewClaims(db: Db, claim_ids: readonly string[]): Promise<Set<string>> {
  if (claim_ids.length === 0) return new Set()
  const result = await sql<{ claim_id: string }>`
    update video_jobs set claimed_until = now() + ${LEASE_SECONDS} * interval '1 second'
    where claim_id = any(${claim_ids as string[]}) and finished_at is null
    returning claim_id`.execute(db)
  return new Set(result.rows.map(({ claim_id }) => claim_id))
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

/** Frees every job at once and returns them. Only for a worker that knows it is the only one alive on this database. */
export async function releaseAllClaims(db: Db): Promise<string[]> {
  return freeClaims(db, sql`claim_id is not null`)
}

/** Frees the jobs of workers that died and returns them. */
export async function releaseExpiredClaims(db: Db): Promise<string[]> {
  return freeClaims(db, sql`claimed_until < now()`)
}

async function freeClaims(db: Db, condition: RawBuilder<unknown>): Promise<string[]> {
  const result = await sql<{ id: string }>`
    update video_jobs set claim_id = null, claimed_until = null
    where finished_at is null and ${condition} returning id`.execute(db)
  return result.rows.map(({ id }) => id)
}
