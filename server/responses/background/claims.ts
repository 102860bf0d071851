import { type RawBuilder, sql } from 'kysely'
import type { Context } from '../../context.ts'
import { addSeconds } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/db.ts'
import { type Claims, claimsOn, type QueueTable } from '../../platform/queue/claims.ts'
import type { MeasuredQueue } from '../../platform/queue/depth.ts'
import { fairClaims } from '../../platform/queue/fair-claims.ts'
import { RESPONSE_QUEUE, type ResponseRow } from '../stored/store/responses.ts'

/** A background response that one consumer has claimed. */
export type ClaimedResponse = ResponseRow & { claim_id: string; request: NonNullable<ResponseRow['request']> }

const OPEN: QueueTable = { table: 'responses', due: 'next_run_at', open: sql`finished_at is null` }

/** For metrics. */
export function measuredResponseQueue(live: Pick<Context, 'config'>): MeasuredQueue {
  const since = sql`case status when 'queued' then created_at end`
  const limitSeconds = () => live.config.limits.response_queue_seconds
  return {
    ...OPEN,
    queue: RESPONSE_QUEUE,
    state: sql`status`,
    states: ['queued', 'in_progress'],
    created: sql`created_at`,
    timed: { since, limitSeconds },
  }
}

/** For releasing what a dead consumer held. */
export const responseQueue = { queue: RESPONSE_QUEUE, claims: claimsOn<ClaimedResponse>(OPEN) } as const

/**
 * Claims on background responses that have not ended, up to `share` of an organization at a time and twice as many of all. Each claim
 * counts as an attempt.
 */
export function responseClaims(share: number): Claims<ClaimedResponse> {
  const counted = sql`, attempts = attempts + 1`
  return fairClaims({ ...OPEN, owner: 'org_id', also: counted }, { owner: share, organization: share, all: share * 2 })
}

/**
 * Which responses this process can work on: while configurations differ, during a rolling change, those of models it does not know are left
 * to the others, and those of the models `without` wait. It takes one that could not be started in time, to end it.
 */
export function servedResponses(
  { config }: Pick<Context, 'config'>,
  { now, without = new Set() }: { now: Date; without?: ReadonlySet<string> },
): RawBuilder<unknown> {
  const ids = config.chat_models.map(({ id }) => id).filter((id) => !without.has(id))
  return sql`(model = any(${ids}::text[]) or created_at < ${addSeconds(now, -config.limits.response_queue_seconds)})`
}

/** Puts a response off until `due`. `counts`: whether the attempt still counts. False when the claim was lost. */
export async function putOff(
  db: Db,
  { id, claim_id }: ClaimedResponse,
  { due, counts }: { due: Date; counts: boolean },
): Promise<boolean> {
  const result = await sql`
    update responses set claim_id = null, claimed_until = null, next_run_at = ${due}, waits = waits + 1,
      attempts = attempts - ${counts ? 0 : 1}::int
    where id = ${id} and claim_id = ${claim_id} and finished_at is null`.execute(db)
  return result.numAffectedRows === 1n
}

/** Whether there is the response, which shows that the database answers. */
export async function stillStored(db: Db, { id }: ClaimedResponse): Promise<boolean> {
  const result = await sql`select from responses where id = ${id}`.execute(db)
  return result.rows.length > 0
}

/** Takes back an attempt, whoever has the response by now. */
export async function uncountAttempt(db: Db, { id }: ClaimedResponse): Promise<void> {
  await sql`update responses set attempts = greatest(0, attempts - 1) where id = ${id} and finished_at is null`.execute(
    db,
  )
}

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
      attempts = greatest(0, attempts - ${counts ? 0 : 1}::int)
    from unnest(${ids}::text[], ${claims}::text[]) as held (id, claim_id)
    where r.id = held.id and r.claim_id = held.claim_id`.execute(db)
}
