import { type Generated, type JSONColumnType, sql } from 'kysely'
import type { AspectRatio } from '../engines/video/contract.ts'
import type { Db } from '../platform/db/db.ts'
import { type FailureCode, type JobInput, type JobStatus, TERMINAL } from './job.ts'
import type { VariantColumns } from './variants/variant.ts'

export type VideoJobRow = VariantColumns & {
  id: string
  org_id: string
  user_id: string
  key_id: string | null
  request_id: string
  model: string
  prompt: string
  /** What the engine is given when it is not the prompt itself. */
  engine_prompt: string | null
  seconds: number
  aspect_ratio: AspectRatio
  inputs: JobInput[]
  status: JobStatus
  error_code: FailureCode | null
  error_message: string | null
  /** Of the deny list, for a prompt that it blocked. */
  error_categories: string[] | null
  per_second: bigint
  cost: bigint
  currency: string
  progress: number
  created_at: Date
  moderated_at: Date | null
  queued_at: Date | null
  render_started_at: Date | null
  completed_at: Date | null
  finished_at: Date | null
  /** Its last start. */
  attempt_id: string | null
  tries: number
  next_run_at: Date
  claim_id: string | null
  claimed_until: Date | null
  cancel_due_at: Date | null
  blob_key: string | null
  output_sha256: string | null
  output_size_bytes: bigint | null
  width: number | null
  height: number | null
  /** The file that the last frame of the clip became; it may be gone. */
  last_frame_file_id: string | null
  /** The job whose request, or last frame, this one was made from in the console; it may be gone. */
  made_from: string | null
}

/** What people see of a job. */
export const SHOWN_COLUMNS = [
  ...(['id', 'model', 'prompt', 'seconds', 'aspect_ratio', 'inputs', 'status', 'progress'] as const),
  ...(['error_code', 'error_message', 'error_categories', 'cost', 'currency', 'created_at'] as const),
  ...(['completed_at', 'finished_at'] as const),
] as const
export type ShownJob = Pick<VideoJobRow, (typeof SHOWN_COLUMNS)[number]>

type Optional =
  | keyof VariantColumns
  | 'engine_prompt'
  | 'error_code'
  | 'error_message'
  | 'error_categories'
  | 'moderated_at'
  | 'queued_at'
  | 'render_started_at'
  | 'completed_at'
  | 'finished_at'
  | 'attempt_id'
  | 'claim_id'
  | 'claimed_until'
  | 'cancel_due_at'
  | 'blob_key'
  | 'output_sha256'
  | 'output_size_bytes'
  | 'width'
  | 'height'
  | 'last_frame_file_id'
  | 'made_from'
  | 'tries'
  | 'progress'
  | 'status'

type VideoJobsTable = Omit<VideoJobRow, Optional | 'inputs'> & {
  [Name in Optional]: Generated<VideoJobRow[Name]>
} & {
  inputs: JSONColumnType<JobInput[], string, never>
}

declare module '../platform/db/db.ts' {
  interface Database {
    video_jobs: VideoJobsTable
  }
}

export type NewVideoJob = Pick<
  VideoJobRow,
  | 'id'
  | 'org_id'
  | 'user_id'
  | 'key_id'
  | 'request_id'
  | 'model'
  | 'prompt'
  | 'seconds'
  | 'aspect_ratio'
  | 'inputs'
  | 'per_second'
  | 'cost'
  | 'currency'
  | 'created_at'
  | 'made_from'
>

const INSERTED: ReadonlyArray<keyof NewVideoJob | 'next_run_at'> = [
  ...(['id', 'org_id', 'user_id', 'key_id', 'request_id', 'model', 'prompt', 'seconds', 'aspect_ratio'] as const),
  ...(['inputs', 'per_second', 'cost', 'currency', 'created_at', 'next_run_at', 'made_from'] as const),
]

/** Inserts jobs as `moderating`, due at once. */
export async function insertJobs(tx: Db, jobs: readonly NewVideoJob[]): Promise<void> {
  const rows = jobs.map((job) => {
    const money = { per_second: String(job.per_second), cost: String(job.cost) }
    return { ...job, ...money, next_run_at: job.created_at }
  })
  const columns = sql.join(INSERTED.map((name) => sql.ref(name)))
  await sql`-- prepared as insert_video_jobs
    insert into video_jobs (${columns})
    select ${columns} from jsonb_populate_recordset(null::video_jobs, ${JSON.stringify(rows)}::jsonb)`.execute(tx)
}

export async function findJob(db: Db, org_id: string, id: string): Promise<VideoJobRow | null> {
  const row = await db
    .selectFrom('video_jobs')
    .selectAll()
    .where('org_id', '=', org_id)
    .where('id', '=', id)
    .executeTakeFirst()
  return (row as VideoJobRow | undefined) ?? null
}

/**
 * Notes the file of a job's last frame in place of the one it had when it was read. False when another request was first, or the job is gone.
 */
export async function keepLastFrame(
  db: Db,
  { org_id, id, last_frame_file_id }: Pick<VideoJobRow, 'org_id' | 'id' | 'last_frame_file_id'>,
  file_id: string,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('video_jobs')
    .set({ last_frame_file_id: file_id })
    .where('org_id', '=', org_id)
    .where('id', '=', id)
    .where('last_frame_file_id', 'is not distinct from', last_frame_file_id)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Who made those of the jobs that the organization has. */
export async function findVideoMakers(
  db: Db,
  { org_id, ids }: { org_id: string; ids: readonly string[] },
): Promise<Array<{ id: string; user_id: string }>> {
  return db
    .selectFrom('video_jobs')
    .select(['id', 'user_id'])
    .where('org_id', '=', org_id)
    .where('id', 'in', ids)
    .execute()
}

/** What a job was made from, and the newest one made from it, as far as the organization has them; null without the job itself. */
export async function findOrigin(
  db: Db,
  { org_id, id }: { org_id: string; id: string },
): Promise<{ made_from: string | null; followed_by: string | null } | null> {
  const { rows } = await sql<{ made_from: string | null; followed_by: string | null }>`
    select (select id from video_jobs where org_id = ${org_id} and id = job.made_from) as made_from,
           (select max(id) from video_jobs where org_id = ${org_id} and made_from = job.id) as followed_by
    from video_jobs job where org_id = ${org_id} and id = ${id}`.execute(db)
  return rows[0] ?? null
}

/** `total`: seconds from submission to completion, and of these the seconds spent `waiting` for a renderer. */
export type RenderTime = { org_id: string; total: number; waiting: number }

/** How long the last completed jobs of a model with this length and size took, of any organization. Reads `limit` rows of one index. */
export async function findRenderTimes(
  db: Db,
  job: Pick<VideoJobRow, 'model' | 'seconds' | 'aspect_ratio'> & { limit: number },
): Promise<RenderTime[]> {
  const { model, seconds, aspect_ratio, limit } = job
  const { rows } = await sql<RenderTime>`
    select org_id, extract(epoch from completed_at - created_at)::float8 as total,
           coalesce(extract(epoch from render_started_at - queued_at), 0)::float8 as waiting
    from video_jobs
    where model = ${model} and seconds = ${seconds} and aspect_ratio = ${aspect_ratio} and completed_at is not null
    order by completed_at desc limit ${limit}`.execute(db)
  return rows
}

/** For background work only, which acts for no caller. */
export async function findJobOfAnyOrg(db: Db, id: string): Promise<VideoJobRow | null> {
  const row = await db.selectFrom('video_jobs').selectAll().where('id', '=', id).executeTakeFirst()
  return (row as VideoJobRow | undefined) ?? null
}

const BLOB_COLUMNS = ['blob_key', 'thumbnail_key', 'spritesheet_key'] as const

/** Keys of the blobs that belong to a job. */
function blobsOf(row: Pick<VideoJobRow, (typeof BLOB_COLUMNS)[number]>): string[] {
  return BLOB_COLUMNS.flatMap((name) => row[name] ?? [])
}

/** Deletes a job that has ended and returns the blobs it leaves behind; `running` when it has not ended, null when there is none. */
export async function deleteEndedJob(
  tx: Db,
  org_id: string,
  id: string,
): Promise<{ blob_keys: string[] } | 'running' | null> {
  const deleted = await tx
    .deleteFrom('video_jobs')
    .where('org_id', '=', org_id)
    .where('id', '=', id)
    .where('status', 'in', TERMINAL)
    .returning(BLOB_COLUMNS)
    .executeTakeFirst()
  if (deleted) return { blob_keys: blobsOf(deleted) }
  return (await findJob(tx, org_id, id)) ? 'running' : null
}

/** Deletes up to `limit` jobs that ended before `before`. */
export async function deleteJobsEndedBefore(
  db: Db,
  before: Date,
  limit: number,
): Promise<Array<{ id: string; blob_keys: string[] }>> {
  const result = await sql<Pick<VideoJobRow, 'id' | (typeof BLOB_COLUMNS)[number]>>`
    delete from video_jobs where id in (
      select id from video_jobs where finished_at <= ${before} order by finished_at limit ${limit} for update skip locked)
    returning id, blob_key, thumbnail_key, spritesheet_key`.execute(db)
  return result.rows.map((row) => ({ id: row.id, blob_keys: blobsOf(row) }))
}

/** Those of the jobs that belong to one of the organizations. */
export async function findJobsOfOrganizations(
  db: Db,
  which: { ids: readonly string[]; org_ids: readonly string[] },
): Promise<Array<ShownJob & Pick<VideoJobRow, 'org_id' | 'user_id'>>> {
  return db
    .selectFrom('video_jobs')
    .select(['org_id', 'user_id', ...SHOWN_COLUMNS])
    .where('id', 'in', which.ids)
    .where('org_id', 'in', which.org_ids)
    .execute()
}
