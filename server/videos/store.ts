import { type ColumnType, type Generated, type JSONColumnType, sql } from 'kysely'
import type { AspectRatio, Ticket } from '../engines/video/contract.ts'
import type { Db } from '../platform/db/db.ts'
import { type FailureCode, type JobChanges, type JobInput, type Status, TERMINAL } from './job.ts'
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
  status: Status
  error_code: FailureCode | null
  error_message: string | null
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
  attempt_id: string | null
  attempt_started_at: Date | null
  /** Of a model with several engines, the one that the attempt is begun on. */
  engine: string | null
  /** Kind and addresses of the engine that the attempt is begun on. */
  engine_address: string | null
  start_unknown: boolean
  unknown_starts: number
  start_key: string | null
  ticket: Ticket
  attempts: number
  lost: number
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
}

type Optional =
  | keyof VariantColumns
  | 'engine_prompt'
  | 'error_code'
  | 'error_message'
  | 'moderated_at'
  | 'queued_at'
  | 'render_started_at'
  | 'completed_at'
  | 'finished_at'
  | 'attempt_id'
  | 'attempt_started_at'
  | 'engine'
  | 'engine_address'
  | 'start_unknown'
  | 'unknown_starts'
  | 'start_key'
  | 'claim_id'
  | 'claimed_until'
  | 'cancel_due_at'
  | 'blob_key'
  | 'output_sha256'
  | 'output_size_bytes'
  | 'width'
  | 'height'
  | 'attempts'
  | 'lost'
  | 'tries'
  | 'progress'
  | 'status'

type VideoJobsTable = Omit<VideoJobRow, Optional | 'inputs' | 'ticket'> & {
  [Name in Optional]: Generated<VideoJobRow[Name]>
} & {
  inputs: JSONColumnType<JobInput[], string, never>
  ticket: ColumnType<Ticket, string | null | undefined, string | null>
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
>

const INSERTED: ReadonlyArray<keyof NewVideoJob | 'next_run_at'> = [
  ...(['id', 'org_id', 'user_id', 'key_id', 'request_id', 'model', 'prompt', 'seconds', 'aspect_ratio'] as const),
  ...(['inputs', 'per_second', 'cost', 'currency', 'created_at', 'next_run_at'] as const),
]

/** Inserts jobs as `moderating`, due at once. */
export async function insertJobs(tx: Db, jobs: readonly NewVideoJob[]): Promise<void> {
  const rows = jobs.map((job) => {
    const money = { per_second: String(job.per_second), cost: String(job.cost) }
    return { ...job, ...money, next_run_at: job.created_at }
  })
  const columns = sql.join(INSERTED.map((name) => sql.ref(name)))
  await sql`
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

/** For background work only, which acts for no caller. */
export async function findJobOfAnyOrg(db: Db, id: string): Promise<VideoJobRow | null> {
  const row = await db.selectFrom('video_jobs').selectAll().where('id', '=', id).executeTakeFirst()
  return (row as VideoJobRow | undefined) ?? null
}

/** Columns of a job that change after it was made. */
export type JobColumns = JobChanges &
  Partial<
    Pick<
      VideoJobRow,
      | 'status'
      | 'next_run_at'
      | 'moderated_at'
      | 'queued_at'
      | 'render_started_at'
      | 'completed_at'
      | 'finished_at'
      | 'error_code'
      | 'error_message'
      | 'claim_id'
      | 'claimed_until'
      | 'cancel_due_at'
    >
  >

const CHANGING = [
  ...[
    'status',
    'next_run_at',
    'moderated_at',
    'queued_at',
    'render_started_at',
    'completed_at',
    'finished_at',
    'error_code',
    'error_message',
  ],
  ...[
    'claim_id',
    'claimed_until',
    'cancel_due_at',
    'engine_prompt',
    'progress',
    'tries',
    'attempts',
    'lost',
    'attempt_id',
  ],
  ...[
    'attempt_started_at',
    'engine',
    'engine_address',
    'start_unknown',
    'unknown_starts',
    'start_key',
    'ticket',
    'width',
    'height',
    'blob_key',
  ],
  ...['output_sha256', 'output_size_bytes'],
]

/**
 * The fenced update every status, and everything else about a job, goes through, of several jobs in one statement. Nothing happens to a
 * job that no longer has the status and claim it was read with; without a claim, as a cancellation is, the attempt and whether it has a
 * ticket count instead. Returns the ids of the jobs that were written.
 */
export async function writeJobs(
  db: Db,
  moves: ReadonlyArray<{ job: VideoJobRow; set: JobColumns }>,
): Promise<Set<string>> {
  const columns = sql.join(CHANGING.map((name) => sql.ref(name)))
  const values = sql.join(CHANGING.map((name) => sql.ref(`r.${name}`)))
  const result = await sql<{ id: string }>`
    update video_jobs as j set (${columns}) = (select ${values} from jsonb_populate_record(j, u.set) as r)
    from jsonb_to_recordset(${JSON.stringify(moves.map(fencedMove))}::jsonb)
      as u (id text, was text, claim text, attempt text, has_ticket boolean, set jsonb)
    where j.id = any(${moves.map(({ job }) => job.id)}::text[]) and j.id = u.id and j.status = u.was
      and case when u.claim is null then j.attempt_id is not distinct from u.attempt and (j.ticket is not null) = u.has_ticket
               else j.claim_id = u.claim end
    returning j.id`.execute(db)
  return new Set(result.rows.map(({ id }) => id))
}

function fencedMove({ job, set }: { job: VideoJobRow; set: JobColumns }) {
  const { id, status: was, claim_id: claim, attempt_id: attempt, ticket } = job
  const { output_size_bytes: size } = set
  const columns = size === undefined ? set : { ...set, output_size_bytes: String(size) }
  return { id, was, claim, attempt, has_ticket: ticket !== null, set: columns }
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
): Promise<VideoJobRow[]> {
  const rows = await db
    .selectFrom('video_jobs')
    .selectAll()
    .where('id', 'in', which.ids)
    .where('org_id', 'in', which.org_ids)
    .execute()
  return rows as unknown as VideoJobRow[]
}
