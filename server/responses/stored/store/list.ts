import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../platform/db/db.ts'
import type { ResponseStatus } from '../../schema/response.ts'

/**
 * Which background responses of all organizations, and how many. Times are those of their end, of unfinished ones of their creation: nothing
 * else is in an index. `read_max` bounds how many responses are looked through.
 */
export type WantedResponses = {
  org_id: string | null
  statuses: readonly ResponseStatus[]
  model: string | null
  error: string | null
  since: Date | null
  before: Date | null
  order: 'asc' | 'desc'
  limit: number
  read_max: number
}

type ListedResponse = {
  id: string
  org_id: string
  model: string
  status: ResponseStatus
  request_id: string
  created_at: Date
  finished_at: Date | null
  attempts: number
  waits: number
  next_run_at: Date | null
  claimed_until: Date | null
  cancel_requested_at: Date | null
  error_code: string | null
}

const UNFINISHED: readonly ResponseStatus[] = ['queued', 'in_progress']

export function hasEnded(status: ResponseStatus): boolean {
  return !UNFINISHED.includes(status)
}

/**
 * For the operator only, who belongs to no organization: one more than `limit` when there is more, without what was asked and answered.
 * Unfinished responses are all read, from their own two indexes; of the others, which were not all made in the background, the first `read_max`.
 */
export async function listResponsesOfAnyOrg(db: Db, wanted: WantedResponses): Promise<ListedResponse[]> {
  const { org_id, statuses, model, error, since, before, order, limit, read_max } = wanted
  const place = sql.raw(order)
  const filters = sql.join(
    [
      sql`background and status = any(${[...statuses]}::text[])`,
      ...(org_id === null ? [] : [sql`org_id = ${org_id}`]),
      ...(model === null ? [] : [sql`model = ${model}`]),
      // Only of those that failed is the body read.
      ...(error === null
        ? []
        : [sql`case when status = 'failed' then body->'error'->>'code' = ${error} else false end`]),
    ],
    sql` and `,
  )
  const unfinished = sql`
    select ${COLUMNS} from unfinished
    where ${filters} and ${within(sql`created_at`, { since, before })} order by created_at ${place} limit ${limit + 1}`
  const ended = sql`
    select ${COLUMNS} from (select * from responses where ${endedWithin(wanted)} order by finished_at ${place} limit ${read_max}) r
    where ${filters} order by finished_at ${place} limit ${limit + 1}`
  const pages = [
    ...(statuses.every(hasEnded) ? [] : [sql`(${unfinished})`]),
    ...(statuses.some(hasEnded) ? [sql`(${ended})`] : []),
  ]
  const { rows } = await sql<ListedResponse>`
    with unfinished as materialized (
      select * from responses where finished_at is null and claim_id is null
      union all select * from responses where finished_at is null and claimed_until is not null
    )
    select * from (${sql.join(pages, sql` union all `)}) as found
    order by coalesce(finished_at, created_at) ${place} limit ${limit + 1}`.execute(db)
  return rows
}

/** When the response ended at which the search stops; null when there are no others. */
export async function findEndOfResponseWalk(db: Db, wanted: WantedResponses): Promise<Date | null> {
  if (!wanted.statuses.some(hasEnded)) return null
  const { rows } = await sql<{ finished_at: Date }>`
    select finished_at from responses where ${endedWithin(wanted)}
    order by finished_at ${sql.raw(wanted.order)} offset ${wanted.read_max} limit 1`.execute(db)
  return rows[0]?.finished_at ?? null
}

const COLUMNS = sql`id, org_id, model, status, request_id, created_at, finished_at, attempts, waits, next_run_at, claimed_until,
  cancel_requested_at, case when status = 'failed' then body->'error'->>'code' end as error_code`

function endedWithin(wanted: Pick<WantedResponses, 'since' | 'before'>): RawBuilder<unknown> {
  return sql`finished_at is not null and ${within(sql`finished_at`, wanted)}`
}

function within(
  time: RawBuilder<unknown>,
  { since, before }: Pick<WantedResponses, 'since' | 'before'>,
): RawBuilder<unknown> {
  const parts = [
    ...(since === null ? [] : [sql`${time} >= ${since}`]),
    ...(before === null ? [] : [sql`${time} < ${before}`]),
  ]
  return parts.length === 0 ? sql`true` : sql.join(parts, sql` and `)
}
