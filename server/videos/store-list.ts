import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import { comparisonOf, type Position } from '../platform/http/list.ts'
import { firstId } from '../platform/ids.ts'
import { isTerminal, STATUSES, type Status } from './job.ts'
import type { Attempt } from './render/attempt.ts'
import { SHOWN_COLUMNS, type ShownJob, type VideoJobRow } from './store.ts'

/** Which jobs of an organization are listed; without a member, all. */
export type JobFilter = { statuses?: readonly Status[]; model?: string }

/** A page of the jobs of an organization, and how much of it is read. */
export type JobPage = Position & JobFilter & { org_id: string; bytes_max: number }

/**
 * A page of the organization's jobs, one row more than `limit` when there is more, and the bytes of its prompts; null in its place when these
 * are more than `bytes_max`. A filtered page reads about as many rows as a whole one.
 */
export async function listJobs(db: Db, page: JobPage): Promise<{ bytes: number; content: ShownJob[] | null }> {
  const columns = SHOWN_COLUMNS.map((name) =>
    name === 'prompt'
      ? sql`case when sum(octet_length(prompt)) over () <= ${page.bytes_max} then prompt end as prompt`
      : sql.ref(name),
  )
  const { rows } = await sql<ShownJob & { prompt: string | null; bytes: bigint }>`
    select ${sql.join(columns)}, sum(octet_length(prompt)) over () as bytes
    from (${rowsOf(page)}) as page order by id ${sql.raw(page.order)}`.execute(db)
  const bytes = Number(rows[0]?.bytes ?? 0)
  return { bytes, content: bytes > page.bytes_max ? null : rows }
}

function rowsOf({ org_id, statuses, model, after, order, limit }: JobPage): RawBuilder<unknown> {
  const end = sql`order by id ${sql.raw(order)} limit ${limit + 1}`
  const rows = (filter: RawBuilder<unknown>) => {
    const of_model = model === undefined ? sql`` : sql` and model = ${model}`
    const beyond = after === null ? sql`` : sql` and id ${sql.raw(comparisonOf(order))} ${after}`
    return sql`select ${SHOWN} from video_jobs where org_id = ${org_id}${filter}${of_model}${beyond} ${end}`
  }
  if (statuses === undefined && model === undefined) return rows(sql``)
  const wanted = statuses ?? STATUSES
  const open = wanted.filter((status) => !isTerminal(status))
  const parts = wanted.filter(isTerminal).map((status) => sql` and finished_at is not null and ${ENDED_AS} = ${status}`)
  if (open.length > 0) parts.push(sql` and finished_at is null and status = any(${open as Status[]}::text[])`)
  // Each part walks an index of its own in the order of the page, and stops when the page is full.
  return sql`select * from (${sql.join(
    parts.map((part) => sql`(${rows(part)})`),
    sql` union all `,
  )}) as found ${end}`
}

const SHOWN = sql.join(SHOWN_COLUMNS.map((name) => sql.ref(name)))

/** The status of a job that has ended, as its indexes have it: by columns that never change before its end. */
const ENDED_AS = sql`(case when completed_at is not null then 'completed' when error_code is not null then 'failed' else 'canceled' end)`

/** Which jobs of all organizations, and how many: `read_max` bounds how many of those that ended are looked through. */
export type WantedJobs = {
  org_id: string | null
  statuses: readonly Status[]
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
      sql`j.status = any(${statuses as Status[]}::text[])`,
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
  render: Attempt['state'] | null
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
