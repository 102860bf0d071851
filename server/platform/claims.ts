import { type RawBuilder, sql } from 'kysely'
import type { Db } from './db.ts'

/** How long a claim holds without renewal. Shorter risks a second worker on live work; longer delays recovery after a crash. */
export const LEASE_SECONDS = 10

/**
 * Claims of workers on the rows of one table, which has `id`, `claim_id`, `claimed_until`, `next_run_at` and `finished_at`. Leases go by
 * the clock of the database: they are about processes that are alive now, not about calendar time.
 */
export function claimsOn(name: string) {
  const table = sql.table(name)
  const lease = sql`now() + ${LEASE_SECONDS} * interval '1 second'`
  const free = async (db: Db, condition: RawBuilder<unknown>): Promise<string[]> => {
    const result = await sql<{ id: string }>`
      update ${table} set claim_id = null, claimed_until = null
      where finished_at is null and ${condition} returning id`.execute(db)
    return result.rows.map(({ id }) => id)
  }
  return {
    /** Takes a row for one worker, setting `also` with it. Null when it has ended or a live worker has it. */
    async claim<Row>(db: Db, claim: { id: string; claim_id: string; also?: RawBuilder<unknown> }): Promise<Row | null> {
      const { id, claim_id, also = sql`` } = claim
      const result = await sql<Row>`
        update ${table} set claim_id = ${claim_id}, claimed_until = ${lease}${also}
        where id = ${id} and finished_at is null and (claimed_until is null or claimed_until < now())
        returning *`.execute(db)
      return result.rows[0] ?? null
    },

    /** Renews the claims a process holds, and returns those that are still its own. */
    async renewClaims(db: Db, claim_ids: readonly string[]): Promise<Set<string>> {
      if (claim_ids.length === 0) return new Set()
      const result = await sql<{ claim_id: string }>`
        update ${table} set claimed_until = ${lease}
        where claim_id = any(${claim_ids as string[]}) and finished_at is null
        returning claim_id`.execute(db)
      return new Set(result.rows.map(({ claim_id }) => claim_id))
    },

    /** Frees every row at once and returns them. Only for a worker that knows it is the only one alive on this database. */
    releaseAllClaims: (db: Db): Promise<string[]> => free(db, sql`claim_id is not null`),

    /** Frees the rows of workers that died and returns them. */
    releaseExpiredClaims: (db: Db): Promise<string[]> => free(db, sql`claimed_until < now()`),

    /**
     * Rows in flight that no worker has although they were due at `before`; they count as due at `now` from here on, so that a long
     * queue does not fill with second wake-ups.
     */
    async takeOverdue(db: Db, overdue: { before: Date; now: Date; limit: number }): Promise<string[]> {
      const { before, now, limit } = overdue
      const result = await sql<{ id: string }>`
        update ${table} set next_run_at = ${now} where id in (
          select id from ${table} where finished_at is null and next_run_at <= ${before} and claim_id is null
          order by next_run_at limit ${limit} for update skip locked)
        returning id`.execute(db)
      return result.rows.map(({ id }) => id)
    },
  }
}
