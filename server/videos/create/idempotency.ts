import { createHmac, randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { addSeconds, type Clock } from '../../platform/clock.ts'
import type { Db, Tx } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import { canonicalPieces } from '../../platform/json/canonical.ts'
import { turnTaker } from '../../platform/turns.ts'

/** How long created jobs are replayed. */
const REMEMBERED_SECONDS = 86_400
/**
 * A reservation that was not renewed for this long belongs to a request whose process died. One that lives after all, and was too busy to
 * renew it, creates no job once another request has reserved the key (`rememberJobs`).
 */
const RESERVATION_SECONDS = 5
const RENEW_SECONDS = 1

/** Holds a digest of the body and the fields a replay needs, never the prompt: that comes from the repeated request. */
type IdempotencyRow = {
  org_id: string
  key: string
  reservation_id: string
  reserved_at: Date
  body_digest: string
  job_id: string | null
  /** Of a request that created several. */
  other_job_ids: string[] | null
  cost: bigint | null
  currency: string | null
  created_at: Date | null
  expires_at: Date
}

declare module '../../platform/db/db.ts' {
  interface Database {
    video_idempotency: IdempotencyRow
  }
}

/** The first answer to a key, without what the repeated body contains anyway. `cost`: of each job. */
export type Remembered = { job_ids: readonly string[]; cost: bigint; currency: string; created_at: Date }
export type Reservation = { org_id: string; key: string; reservation_id: string }

/** The header's value, checked; undefined when not sent. Throws ApiError 400. */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  if (typeof header === 'string' && /^[\x20-\x7e]{1,255}$/.test(header)) return header
  throw new ApiError(
    'invalid_value',
    "Invalid 'Idempotency-Key' header: expected 1 to 255 printable ASCII characters.",
    {
      param: 'Idempotency-Key',
    },
  )
}

/**
 * Equal for bodies of equal values, whatever their encoding, order of members, or optional members sent as null. The first is the one to
 * store; the others are those of the same body under previous secrets.
 */
export async function bodyDigests(secrets: readonly string[], body: unknown): Promise<string[]> {
  const digests = secrets.map((secret) => createHmac('sha256', `idempotency:${secret}`))
  const turn = turnTaker(1)
  for (const piece of canonicalPieces(body)) {
    for (const digest of digests) digest.update(piece)
    const other = turn()
    if (other) await other
  }
  return digests.map((digest) => digest.digest('hex'))
}

/**
 * Reserves a key for one request, or returns the jobs that an earlier request with this key created.
 * Throws ApiError `idempotency_key_reused` for another body, `idempotency_in_progress` while another request holds the key.
 */
export async function reserveKey(
  db: Db,
  wanted: { org_id: string; key: string; body_digests: readonly string[] },
  now: Date,
): Promise<{ reservation: Reservation } | { remembered: Remembered }> {
  const { org_id, key, body_digests } = wanted
  const body_digest = body_digests[0]!
  const reservation = { org_id, key, reservation_id: randomUUID() }
  const times = { reserved_at: now, expires_at: addSeconds(now, REMEMBERED_SECONDS) }
  const empty = { job_id: null, other_job_ids: null, cost: null, currency: null, created_at: null }
  const row = { ...reservation, ...times, body_digest, ...empty }
  for (;;) {
    const mine = await db
      .insertInto('video_idempotency')
      .values(row)
      .onConflict((conflict) =>
        conflict
          .columns(['org_id', 'key'])
          .doUpdateSet(row)
          .where(sql<boolean>`video_idempotency.expires_at <= ${now}
            or (video_idempotency.job_id is null and video_idempotency.reserved_at < ${addSeconds(now, -RESERVATION_SECONDS)})`),
      )
      .returning('reservation_id')
      .executeTakeFirst()
    if (mine) return { reservation }
    const earlier = await db
      .selectFrom('video_idempotency')
      .selectAll()
      .where('org_id', '=', org_id)
      .where('key', '=', key)
      .executeTakeFirst()
    // Released between the two statements: try again.
    if (earlier) return { remembered: recall(earlier, body_digests) }
  }
}

/** Keeps a key reserved, however long its request takes, until `stop`. */
export function keepReserved(db: Db, clock: Clock, reservation: Reservation): { stop(): void } {
  let renewing = false
  const renew = async () => {
    if (renewing) return
    renewing = true
    // Without an answer of the database the request cannot create its job either.
    await renewReservation(db, reservation, clock.now()).catch(() => {})
    renewing = false
  }
  const timer = setInterval(renew, RENEW_SECONDS * 1000).unref()
  return { stop: () => clearInterval(timer) }
}

/** A row that the job's transaction has locked stays as it is: others wait for that transaction. */
async function renewReservation(db: Db, reservation: Reservation, now: Date): Promise<void> {
  const { org_id, key, reservation_id } = reservation
  await sql`
    update video_idempotency set reserved_at = ${now} where (org_id, key) in (
      select org_id, key from video_idempotency
      where org_id = ${org_id} and key = ${key} and reservation_id = ${reservation_id} and job_id is null
      for update skip locked)`.execute(db)
}

/** Records the jobs in the transaction that inserts them. Throws ApiError `idempotency_in_progress` when another request has reserved the key. */
export async function rememberJobs(tx: Tx, reservation: Reservation, made: Remembered): Promise<void> {
  const { job_ids, ...rest } = made
  const [job_id, ...others] = job_ids
  const result = await tx
    .updateTable('video_idempotency')
    .set({ ...rest, job_id: job_id!, other_job_ids: others.length > 0 ? others : null })
    .where(({ and }) => and(reservation))
    .executeTakeFirst()
  if (result.numUpdatedRows !== 1n) throw inProgress()
}

/** Releases the key of a request that created no job. */
export async function releaseKey(db: Db, reservation: Reservation): Promise<void> {
  await db
    .deleteFrom('video_idempotency')
    .where(({ and }) => and(reservation))
    .where('job_id', 'is', null)
    .execute()
}

/** Deletes up to `limit` expired keys; returns how many. */
export async function deleteExpiredKeys(db: Db, now: Date, limit: number): Promise<number> {
  const old = db.selectFrom('video_idempotency').select(['org_id', 'key']).where('expires_at', '<=', now).limit(limit)
  const result = await db
    .deleteFrom('video_idempotency')
    .where(({ eb, refTuple }) => eb(refTuple('org_id', 'key'), 'in', old.$asTuple('org_id', 'key')))
    // Checked again on a row that another request has just reserved again.
    .where('expires_at', '<=', now)
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}

function recall(row: IdempotencyRow, body_digests: readonly string[]): Remembered {
  if (!body_digests.includes(row.body_digest)) {
    const text = 'This Idempotency-Key was used with another body. Send the same body again, or use a new key.'
    throw new ApiError('idempotency_key_reused', text, { param: 'Idempotency-Key' })
  }
  const { job_id, other_job_ids, cost, currency, created_at } = row
  if (job_id === null || cost === null || currency === null || created_at === null) throw inProgress()
  return { job_ids: [job_id, ...(other_job_ids ?? [])], cost, currency, created_at }
}

function inProgress(): ApiError {
  return new ApiError(
    'idempotency_in_progress',
    'A request with this Idempotency-Key is still being processed. Try again in a moment.',
    {
      retry_after_seconds: 1,
    },
  )
}
