import { sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import { comparisonOf, type Position } from '../platform/http/list.ts'
import { isTerminal, STATUSES, type Status } from './job.ts'
import type { VideoJobRow } from './store.ts'

/** Which jobs of an organization are listed; without a member, all. */
export type JobFilter = { statuses?: readonly Status[]; model?: string }

/** A page of the organization's jobs, one row more than `limit` when there is more. A filtered page reads about as many rows as a whole one. */
export async function listJobs(db: Db, org_id: string, page: Position, filter: JobFilter = {}): Promise<VideoJobRow[]> {
  if (filter.statuses === undefined && filter.model === undefined) return listAll(db, org_id, page)
  const { statuses = STATUSES, model } = filter
  const open = statuses.filter((status) => !isTerminal(status))
  const parts = statuses.filter(isTerminal).map((status) => sql`finished_at is not null and ${ENDED_AS} = ${status}`)
  if (open.length > 0) parts.push(sql`finished_at is null and status = any(${open as Status[]}::text[])`)
  const of_model = model === undefined ? sql`` : sql` and model = ${model}`
  const after = page.after === null ? sql`` : sql` and id ${sql.raw(comparisonOf(page.order))} ${page.after}`
  const end = sql`order by id ${sql.raw(page.order)} limit ${page.limit + 1}`
  // Each part walks an index of its own in the order of the page, and stops when the page is full.
  const walks = parts.map(
    (part) => sql`(select * from video_jobs where org_id = ${org_id} and ${part}${of_model}${after} ${end})`,
  )
  const found = await sql<VideoJobRow>`select * from (${sql.join(walks, sql` union all `)}) as found ${end}`.execute(db)
  return found.rows
}

/** The status of a job that has ended, as its indexes have it: by columns that never change before its end. */
const ENDED_AS = sql`(case when completed_at is not null then 'completed' when error_code is not null then 'failed' else 'canceled' end)`

async function listAll(db: Db, org_id: string, page: Position): Promise<VideoJobRow[]> {
  let query = db.selectFrom('video_jobs').selectAll().where('org_id', '=', org_id)
  if (page.after !== null) query = query.where('id', comparisonOf(page.order), page.after)
  const rows = await query
    .orderBy('id', page.order)
    .limit(page.limit + 1)
    .execute()
  return rows as unknown as VideoJobRow[]
}

/** For the operator only, who belongs to no organization: newest first, one more than `limit` when there is more. No prompts. */
export async function listJobsOfAnyOrg(db: Db, wanted: { org_id: string | null; limit: number }) {
  let query = db
    .selectFrom('video_jobs as j')
    .leftJoin('video_attempts as a', 'a.id', 'j.attempt_id')
    .select(['j.id', 'j.org_id', 'j.status', 'j.model', 'j.seconds', 'j.cost', 'j.currency'])
    .select([
      'j.error_code',
      'j.created_at',
      'a.number as starts',
      'a.state as render',
      'a.engine_status',
      'a.last_heard_at',
    ])
  if (wanted.org_id !== null) query = query.where('j.org_id', '=', wanted.org_id)
  return query
    .orderBy('j.id', 'desc')
    .limit(wanted.limit + 1)
    .execute()
}
