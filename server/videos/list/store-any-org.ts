import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import { firstId } from '../../platform/ids.ts'
import { isTerminal, type JobStatus } from '../job.ts'
import type { RenderAttempt } from '../render/attempt.ts'
import type { VideoJobRow } from '../store.ts'

/** The status of a job that has ended, as its indexes have it: by columns that never change before its end. */
export const ENDED_AS = sql`(case when completed_at is not null then 'completed' when error_code is not null then 'failed' else 'canceled' end)`

/** Which jobs of all organizations, and how many: `read_max` bounds how many of those that ended are looked through. */
export type WantedJobs = {
  org_id: string | null
  statuses: readonly JobStatus[]
  model: string | null
  /** The engine of the last start: as `kinora admin status` names it, its name, or its kind. */
  engine: string | null
  error: string | null
  /** When they were created. */
  since: Date | null
  before: Date | null
  order: 'asc' | 'desc'
  limit: number
  read_max: number
}

/**
 * For the operator only, who belongs to no organization: jobs with their last starts, one more than `limit` when there is more. No prompts.
 * Unfinished jobs are few and are all read, from their own index (which `org_id >= ''` leads to, and `is not null` does not); those that ended are read in order, at most `read_max` of them.
 */
export async function listJobsOfAnyOrg(db: Db, wanted: WantedJobs) {
  const { statuses, model, engine, error, order, limit, read_max } = wanted
  const place = sql.raw(order)
  const filters = sql.join(
    [
      sql`j.status = any(${statuses as JobStatus[]}::text[])`,
      ...(model === null ? [] : [sql`j.model = ${model}`]),
      ...(error === null ? [] : [sql`j.error_code = ${error}`]),
      ...(engine === null
        ? []
        : [sql`${engine} in (a.engine, a.kind, j.model, j.model || '/' || a.engine) and a.kind is not null`]),
    ],
    sql` and `,
  )
  const page = (source: RawBuilder<unknown>) => sql`
    select j.*, a.starts, a.render, a.engine, a.engine_status, a.last_heard_at
    from (${source}) j left join lateral (
      select number as starts, state as render, engine_status, last_heard_at, kind, coalesce(engine, kind) as engine
      from video_attempts, split_part(engine_address, ' ', 1) as kind where id = j.attempt_id limit 1) a on true
    where ${filters} order by j.id ${place} limit ${limit + 1}`
  const unfinished = statuses.some((status) => !isTerminal(status))
  const walk = sql`select ${COLUMNS} from video_jobs where ${endedJobs(wanted)} order by id ${place} limit ${read_max}`
  const pages = [
    ...(unfinished ? [sql`(${page(sql`select * from unfinished`)})`] : []),
    ...(statuses.some(isTerminal) ? [sql`(${page(walk)})`] : []),
  ]
  const { rows } = await sql<ListedJob>`
    with unfinished as materialized (
      select ${COLUMNS} from video_jobs where finished_at is null and org_id >= '' and ${inPeriod(wanted)}
    )
    select * from (${sql.join(pages, sql` union all `)}) as found order by id ${place} limit ${limit + 1}`.execute(db)
  return rows
}

/** Until when the walk through jobs that ended has looked; null when there are no others. */
export async function findEndOfWalk(db: Db, wanted: WantedJobs): Promise<Date | null> {
  if (!wanted.statuses.some(isTerminal)) return null
  const { rows } = await sql<{ created_at: Date }>`
    select created_at from video_jobs where ${endedJobs(wanted)}
    order by id ${sql.raw(wanted.order)} offset ${wanted.read_max} limit 1`.execute(db)
  return rows[0]?.created_at ?? null
}

type ListedJob = Pick<
  VideoJobRow,
  'id' | 'org_id' | 'status' | 'model' | 'seconds' | 'cost' | 'currency' | 'error_code' | 'created_at' | 'finished_at'
> & {
  starts: number | null
  render: RenderAttempt['state'] | null
  engine: string | null
  engine_status: string | null
  last_heard_at: Date | null
}

const COLUMNS = sql.join(
  [
    ...['id', 'org_id', 'status', 'model', 'seconds', 'cost', 'currency'],
    ...['error_code', 'created_at', 'finished_at', 'attempt_id'],
  ].map((name) => sql.ref(name)),
)

/** Of one organization, how they ended is in an index. */
function endedJobs({ org_id, statuses, ...period }: WantedJobs): RawBuilder<unknown> {
  const ends = statuses.filter(isTerminal)
  const ended_as = org_id !== null && ends.length === 1 ? sql`${ENDED_AS} = ${ends[0]}` : sql`true`
  return sql`finished_at is not null and ${ended_as} and ${inPeriod({ org_id, ...period })}`
}

/** Ids begin with the time at which they were made, but for what was made while a clock was set back. */
function inPeriod({ org_id, since, before }: Pick<WantedJobs, 'org_id' | 'since' | 'before'>): RawBuilder<unknown> {
  const parts = [
    ...(org_id === null ? [] : [sql`org_id = ${org_id}`]),
    ...(since === null ? [] : [sql`id >= ${firstId('video', since)}`]),
    ...(before === null ? [] : [sql`id < ${firstId('video', before)}`]),
  ]
  return parts.length === 0 ? sql`true` : sql.join(parts, sql` and `)
}
