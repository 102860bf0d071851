import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../db/db.ts'

/** How long a claim holds without renewal. Shorter risks a second consumer on live work; longer delays recovery after a crash. */
export const LEASE_SECONDS = 10

/** A lease with less than this part left is renewed: early enough that two turns may be missed, not so early that short work is written for it. */
export const RENEWED_BELOW = 0.7

/** The end of a lease that begins now. */
const LEASE = sql`now() + ${LEASE_SECONDS} * interval '1 second'`

/** The columns every queue row has. `claim_id` names the claim of one consumer, which writes only under it. */
export type Claimed = { id: string; claim_id: string | null }

/**
 * A table whose rows are a queue: `due` names the column with the due time, which is null or meaningless where `open` does not hold.
 * Beside it the table has `id`, `claim_id` and `claimed_until`, an index on `due` of rows that are open and unclaimed, and one on
 * `claimed_until` where it is not null.
 */
export type QueueTable = { table: string; due: string; open: RawBuilder<unknown>; also?: RawBuilder<unknown> }

/** What a claim is to take: see `claim`. */
export type ClaimRequest = {
  claim_id: string
  now: Date
  limit: number
  due_from?: Date | null
  only?: RawBuilder<unknown> | undefined
}

export type Claims<Row extends Claimed> = {
  /**
   * Takes up to `limit` rows that are due at `now` for one consumer, the longest due first. Rows others are taking are skipped. With
   * `due_from`, only rows due since then: what the index still holds of rows that were due before is not read. With `only`, those alone
   * of which it holds: it is a filter on rows found by their due time, and names columns of the table.
   */
  claim(db: Db, wanted: ClaimRequest): Promise<Row[]>
  /** What a consumer reports of the rows that take one of its slots, where claims depend on them. */
  under_way?: {
    begin(row: Row): void
    /** Returns whether rows that are due may have waited for this one to end. */
    end(row: Row): boolean
  }
  /** When a row is, or was, due. */
  dueOf(row: Row): Date
  /** Renews leases that have run for a while, and returns the ids of the rows that are no longer under their claim. */
  renew(db: Db, held: ReadonlyArray<Claimed>): Promise<Set<string>>
  /** Releases rows, due again when they were but no earlier than `not_before`. Rows under other claims stay as they are. */
  release(db: Db, held: ReadonlyArray<Claimed>, options?: { not_before?: Date }): Promise<void>
  /** Releases every row but those of `held`. Only for a consumer that knows it is the only one alive on this database. */
  releaseAllBut(db: Db, held: ReadonlyArray<Claimed>): Promise<number>
  /** Releases the rows of one consumer, whose id begins the ids of its claims. */
  releaseOf(db: Db, consumer_id: string): Promise<number>
  /** Releases the rows of consumers that died; with `expired_seconds_max`, only those whose lease ended no longer ago than that. */
  releaseExpired(db: Db, options?: { expired_seconds_max?: number }): Promise<number>
}

/**
 * Claims on the rows of a queue. Leases use the database's clock, because they are about processes that are alive now. Due times use the
 * clock of the service, as all calendar time does.
 */
export function claimsOn<Row extends Claimed>(queue: QueueTable): Claims<Row> {
  const { table: name, due: column, open } = queue
  const table = sql.table(name)
  const due = sql.ref(column)
  return {
    async claim(db, { claim_id, now, limit, due_from = null, only }) {
      const since = due_from ? sql`and ${due} >= ${due_from}` : sql``
      const filter = only ? sql`and ${only}` : sql``
      const ids = sql`
        select id from ${table} where ${open} and claim_id is null and ${due} <= ${now} ${since} ${filter}
        order by ${due} limit ${limit} for update skip locked`
      const result = await takeRows<Row>(queue, claim_id, ids).execute(db)
      return result.rows
    },

    dueOf: (row) => (row as Record<string, unknown>)[column] as Date,

    async renew(db, held) {
      if (held.length === 0) return new Set()
      // A locked row is being written at this moment; it is renewed next time. `coalesce` keeps PostgreSQL from the index of leases,
      // which is long under a snapshot: rows are looked up by id.
      const result = await sql<{ id: string }>`
        with held as (select * from ${listed(held)}), renewed as (
          update ${table} set claimed_until = ${LEASE} where id = any(array(
            select q.id from ${table} as q join held using (id)
            where q.id = any(${idsOf(held)}::text[]) and q.claim_id = held.claim_id and coalesce(q.claimed_until, now()) < now() + ${LEASE_SECONDS * RENEWED_BELOW} * interval '1 second'
            for update of q skip locked)))
        select held.id from held
        where not exists (
          select from ${table} as q where q.id = any(${idsOf(held)}::text[]) and q.id = held.id and q.claim_id = held.claim_id)`.execute(
        db,
      )
      return new Set(result.rows.map(({ id }) => id))
    },

    async release(db, held, { not_before } = {}) {
      if (held.length === 0) return
      const moved = not_before ? sql`, ${due} = greatest(q.${due}, ${not_before})` : sql``
      await sql`
        update ${table} as q set claim_id = null, claimed_until = null${moved}
        from ${listed(held)} where q.id = any(${idsOf(held)}::text[]) and q.id = held.id and q.claim_id = held.claim_id`.execute(
        db,
      )
    },

    async releaseAllBut(db, held) {
      const result = await sql`
        update ${table} as q set claim_id = null, claimed_until = null
        where ${open} and claimed_until is not null
          and not exists (select from ${listed(held)} where held.id = q.id and held.claim_id = q.claim_id)`.execute(db)
      return Number(result.numAffectedRows)
    },

    // Leases of the living end later than now: the index is not read for past ones.
    async releaseOf(db, consumer_id) {
      const result = await sql`
        update ${table} set claim_id = null, claimed_until = null
        where id = any(array(
          select id from (
            select id, ${open} as open from ${table}
            where claimed_until >= now() - ${LEASE_SECONDS} * interval '1 second' and starts_with(claim_id, ${`${consumer_id}/`})
            offset 0 for update skip locked) as held
          where open))`.execute(db)
      return Number(result.numAffectedRows)
    },

    // `offset 0` keeps `open` out of the inner query: PostgreSQL would read the index of open rows for it, which is long under a snapshot.
    async releaseExpired(db, { expired_seconds_max } = {}) {
      const since =
        expired_seconds_max === undefined
          ? sql``
          : sql`and claimed_until >= now() - ${expired_seconds_max} * interval '1 second'`
      const result = await sql`
        update ${table} set claim_id = null, claimed_until = null
        where id = any(array(
          select id from (
            select id, ${open} as open from ${table} where claimed_until < now() ${since}
            offset 0 for update skip locked) as expired
          where open))`.execute(db)
      return Number(result.numAffectedRows)
    },
  }
}

/** The statement that takes the rows with these ids, and returns them. */
export function takeRows<Row>(
  { table, also = sql`` }: QueueTable,
  claim_id: string,
  ids: RawBuilder<unknown>,
): RawBuilder<Row> {
  return sql<Row>`
    update ${sql.table(table)} as q set claim_id = ${claim_id}, claimed_until = ${LEASE}${also}
    where id = any(array(${ids})) returning q.*`
}

/** In addition to the join: given the ids, PostgreSQL looks each up instead of reading the whole table for a list of unknown length. */
function idsOf(held: ReadonlyArray<Claimed>): string[] {
  return held.map(({ id }) => id)
}

function listed(held: ReadonlyArray<Claimed>): RawBuilder<unknown> {
  const claims = held.map(({ claim_id }) => claim_id)
  return sql`unnest(${idsOf(held)}::text[], ${claims}::text[]) as held (id, claim_id)`
}
