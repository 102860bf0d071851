import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../platform/db.ts'
import type { ResponseRow } from './store.ts'

/** How long a claim holds without renewal. Shorter risks a second run of a live response; longer delays recovery after a crash. */
export const LEASE_SECONDS = 10

/** A background response in the hands of one worker. */
export type ClaimedResponse = ResponseRow & { claim_id: string; request: NonNullable<ResponseRow['request']> }

/**
 * Takes a background response for one worker and counts the attempt. Null when it has ended or a live worker has it. Leases go by the
 * clock of the database: they are about processes that are alive now, not about calendar time.
 */
export async function claimResponse(db: Db, id: string, claim_id: string): Promise<ClaimedResponse | null> {
  const result = await sql<ClaimedResponse>`
    update responses set claim_id = ${claim_id}, claimed_until = now() + ${LEASE_SECONDS} * interval '1 second', attempts = attempts + 1
    where id = ${id} and finished_at is null and (claimed_until is null or claimed_until < now())
    returning *`.execute(db)
  return result.rows[0] ?? null
}

/** Renews the claims a process holds, and returns those that are still its own. */
export async function renewClaims(db: Db, claim_ids: readonly string[]): Promise<Set<string>> {
  if (claim_ids.length === 0) return new Set()
  const result = await sql<{ claim_id: string }>`
    update responses set claimed_until = now() + ${LEASE_SECONDS} * interval '1 second'
    where claim_id = any(${claim_ids as string[]}) and finished_at is null
    returning claim_id`.execute(db)
  return new Set(result.rows.map(({ claim_id }) => claim_id))
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

/** Frees every response at once and returns them. Only for a worker that knows it is the only one alive on this database. */
export async function releaseAllClaims(db: Db): Promise<string[]> {
  return freeClaims(db, sql`claim_id is not null`)
}

/** Frees the responses of workers that died and returns them. */
export async function releaseExpiredClaims(db: Db): Promise<string[]> {
  return freeClaims(db, sql`claimed_until < now()`)
}

async function freeClaims(db: Db, condition: RawBuilder<unknown>): Promise<string[]> {
  const result = await sql<{ id: string }>`
    update responses set claim_id = null, claimed_until = null
    where finished_at is null and ${condition} returning id`.execute(db)
  return result.rows.map(({ id }) => id)
}

/**
 * Background responses that no worker has although they were due at `before`; they count as due at `now` from here on, so that a long
 * queue does not fill with second wake-ups.
 */
export async function takeOverdueResponses(
  db: Db,
  overdue: { before: Date; now: Date; limit: number },
): Promise<string[]> {
  const { before, now, limit } = overdue
  const result = await sql<{ id: string }>`
    update responses set next_run_at = ${now} where id in (
      select id from responses where finished_at is null and next_run_at <= ${before} and claim_id is null
      order by next_run_at limit ${limit} for update skip locked)
    returning id`.execute(db)
  return result.rows.map(({ id }) => id)
}
