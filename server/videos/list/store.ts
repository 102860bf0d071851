import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import { comparisonOf, type Position } from '../../platform/http/list.ts'
import { firstId } from '../../platform/ids.ts'
import { isTerminal, type JobStatus, STATUSES } from '../job.ts'
import { isNamedLike, isTagged } from '../labels/store.ts'
import { SHOWN_COLUMNS, type ShownJob } from '../store.ts'
import { ENDED_AS } from './store-any-org.ts'

/** Which jobs of an organization are listed; without a member, all. */
export type JobFilter = {
  statuses?: readonly JobStatus[]
  model?: string
  /** Who submitted them. */
  user_id?: string
  /** When they were created, to the second: from `since` on, before `before`. */
  since?: Date
  before?: Date
  cost_min?: bigint
  cost_max?: bigint
  /** Stands in their prompts, names or tags, in any case. */
  search?: string
  /** One of their tags, in any case. */
  tag?: string
  /** Whose favorites they are. */
  favorite_of?: string
}

/** A page of the jobs of an organization, and how much of it is read. */
export type JobPage = Position & JobFilter & { org_id: string; bytes_max: number }

/** `walked_to`: the last job that was looked at, of a page that is not full although there are more. */
export type ListedJobs = { jobs: ShownJob[]; walked_to: string | null }

/**
 * What one page looks through for what no index finds: 5,000 jobs, and 4 MB of prompts, so that whoever asks for
 * what is rare, again and again, takes the database for some milliseconds at a time.
 */
const WALK = { jobs: 5000, prompt_bytes: 4_000_000 }

/**
 * A page of the organization's jobs, one row more than `limit` when there is more, and the bytes of its prompts; null in its place when these
 * are more than `bytes_max`. Favorites, status and model, person, and time are in indexes: a page filtered by one of them reads about as many
 * rows as a whole one. Other filters look at the jobs that an index finds, at most WALK of them.
 */
export async function listJobs(db: Db, page: JobPage): Promise<{ bytes: number; content: ListedJobs | null }> {
  const columns = SHOWN_COLUMNS.map((name) =>
    name === 'prompt'
      ? sql`case when sum(octet_length(prompt)) over () <= ${page.bytes_max} then prompt end as prompt`
      : sql.ref(name),
  )
  const { rows } = await sql<ShownJob & { prompt: string | null; bytes: bigint | null; walked_to: string | null }>`
    ${foundOn(page)}
    select ${sql.join(columns)}, walked_to, sum(octet_length(prompt)) over () as bytes
    from walked left join page on true order by id ${sql.raw(page.order)}`.execute(db)
  const bytes = Number(rows[0]?.bytes ?? 0)
  const content = { jobs: rows.filter(({ id }) => id !== null), walked_to: rows[0]?.walked_to ?? null }
  return { bytes, content: bytes > page.bytes_max ? null : content }
}

/** The tables `page`, with the rows of the page, and `walked`, of one row. */
function foundOn(page: JobPage): RawBuilder<unknown> {
  const { order, limit } = page
  const filters = filtersOf(page)
  if (filters.length === 0)
    return sql`with page as (${rowsOf(page, limit + 1)}), walked as (select null::text as walked_to)`
  const last = sql.raw(order === 'asc' ? 'max' : 'min')
  // Both are read as far as they are needed, and in the order of the walk.
  return sql`with walk as materialized (
      select *, sum(octet_length(prompt)) over (order by id ${sql.raw(order)} rows unbounded preceding) - octet_length(prompt) as bytes_before
      from (${rowsOf(page, WALK.jobs)}) as read
    ), page as materialized (
      select * from walk where bytes_before < ${WALK.prompt_bytes} and ${sql.join(filters, sql` and `)} limit ${limit + 1}
    ), walked as (
      select case when (select count(*) from page) <= ${limit} then (
        select case when count(*) = ${WALK.jobs} or count(*) > count(looked_at) then ${last}(looked_at) end
        from (select case when bytes_before < ${WALK.prompt_bytes} then id end as looked_at from walk) as each) end as walked_to
    )`
}

/** Whether the page looks through jobs for what no index finds. */
export function isWalk(page: JobFilter & Pick<JobPage, 'org_id'>): boolean {
  return filtersOf(page).length > 0
}

/** What leads to the jobs of a page; `filtersOf` compares the rest. */
function indexFor({ favorite_of, tag, user_id, statuses, model }: JobFilter) {
  if (favorite_of !== undefined) return 'favorites'
  if (tag !== undefined) return 'labels'
  if (user_id !== undefined) return 'person'
  return statuses === undefined && model === undefined ? 'organization' : 'status'
}

/** The first `most` jobs of the page, in its order, by what is in the indexes. */
function rowsOf(page: JobPage, most: number): RawBuilder<unknown> {
  const { org_id, statuses, model, user_id, favorite_of } = page
  const index = indexFor(page)
  if (index === 'favorites') return rowsBeside(page, sql`video_favorites`, sql` and user_id = ${favorite_of}`, most)
  if (index === 'labels') return rowsBeside(page, sql`video_labels`, sql``, most)
  const end = sql`order by id ${sql.raw(page.order)} limit ${most}`
  const rows = (filter: RawBuilder<unknown>) =>
    sql`select ${SHOWN}, user_id from video_jobs where org_id = ${org_id}${filter}${placeOf(page)} ${end}`
  if (index === 'person') return rows(sql` and user_id = ${user_id}`)
  if (index === 'organization') return rows(sql``)
  const of_model = model === undefined ? sql`` : sql` and model = ${model}`
  const wanted = statuses ?? STATUSES
  const open = wanted.filter((status) => !isTerminal(status))
  const parts = wanted.filter(isTerminal).map((status) => sql` and finished_at is not null and ${ENDED_AS} = ${status}`)
  if (open.length > 0) parts.push(sql` and finished_at is null and status = any(${open as JobStatus[]}::text[])`)
  // Each part walks an index of its own in the order of the page, and stops when the page is full.
  return sql`select * from (${sql.join(
    parts.map((part) => sql`(${rows(sql`${part}${of_model}`)})`),
    sql` union all `,
  )}) as found ${end}`
}

/** The jobs that a table beside theirs has rows for, found one by one. */
function rowsBeside(page: JobPage, table: RawBuilder<unknown>, own: RawBuilder<unknown>, most: number) {
  const { org_id } = page
  const order = sql.raw(page.order)
  return sql`select found.* from (
      select job_id from ${table} where org_id = ${org_id}${own}${placeOf(page, sql.ref('job_id'))} order by job_id ${order} limit ${most}
    ) as beside
    cross join lateral (
      select ${SHOWN}, user_id from video_jobs where org_id = ${org_id} and id = beside.job_id offset 0) as found
    order by id ${order}`
}

/** Ids begin with the time at which they were made. */
function placeOf(
  { after, order, since, before }: Pick<JobPage, 'after' | 'order' | 'since' | 'before'>,
  id: RawBuilder<unknown> = sql.ref('id'),
) {
  const parts = [
    ...(after === null ? [] : [sql` and ${id} ${sql.raw(comparisonOf(order))} ${after}`]),
    ...(since === undefined ? [] : [sql` and ${id} >= ${firstId('video', since)}`]),
    ...(before === undefined ? [] : [sql` and ${id} < ${firstId('video', before)}`]),
  ]
  return parts.length === 0 ? sql`` : sql.join(parts, sql``)
}

/** What `rowsOf` does not look for, of a job of `walk`. */
function filtersOf(filter: JobFilter & Pick<JobPage, 'org_id'>): RawBuilder<unknown>[] {
  const { org_id, statuses, model, user_id, cost_min, cost_max, search, tag } = filter
  const index = indexFor(filter)
  const id = sql.ref('walk.id')
  return [
    ...(index === 'status' || statuses === undefined ? [] : [sql`status = any(${statuses as JobStatus[]}::text[])`]),
    ...(index === 'status' || model === undefined ? [] : [sql`model = ${model}`]),
    ...(index === 'person' || user_id === undefined ? [] : [sql`user_id = ${user_id}`]),
    ...(tag === undefined ? [] : [isTagged(org_id, id, tag)]),
    ...(cost_min === undefined ? [] : [sql`cost >= ${cost_min}`]),
    ...(cost_max === undefined ? [] : [sql`cost <= ${cost_max}`]),
    ...(search === undefined
      ? []
      : [sql`(strpos(lower(prompt), lower(${search})) > 0 or ${isNamedLike(org_id, id, search)})`]),
  ]
}

/** Those of the organization whose jobs are still there, at most `most`: one step through their index for each of them. */
export async function findSubmitters(db: Db, org_id: string, most: number): Promise<string[]> {
  const next = (beyond: RawBuilder<unknown>) => sql`
    select user_id from video_jobs where org_id = ${org_id} ${beyond} order by user_id limit 1`
  const { rows } = await sql<{ user_id: string }>`
    with recursive submitters as (
      (${next(sql``)})
      union all
      select (${next(sql`and user_id > before.user_id`)}) from submitters before where before.user_id is not null
    )
    select user_id from submitters where user_id is not null limit ${most}`.execute(db)
  return rows.map(({ user_id }) => user_id)
}

const SHOWN = sql.join(SHOWN_COLUMNS.map((name) => sql.ref(name)))
