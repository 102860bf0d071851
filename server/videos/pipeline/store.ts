import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import type { JobChanges } from '../job.ts'
import type { AttemptMove, Begun, RenderAttempt } from '../render/attempt.ts'
import type { VideoJobRow } from '../store.ts'

/**
 * A job with its last start. `version` changes with every write to its row: who has no claim reads it, and writes only to the row it has
 * read.
 */
export type Job = VideoJobRow & { attempt: RenderAttempt | null; version?: string | undefined }

export async function findRunningJob(db: Db, org_id: string, id: string): Promise<Job | null> {
  return findVersion(db, sql`id = ${id} and org_id = ${org_id}`)
}

/** For background work only, which acts for no caller. */
export async function findRunningJobOfAnyOrg(db: Db, id: string): Promise<Job | null> {
  return findVersion(db, sql`id = ${id}`)
}

async function findVersion(db: Db, wanted: RawBuilder<unknown>): Promise<Job | null> {
  const result = await sql<VideoJobRow & { version: string }>`
    select *, xmin::text as version from video_jobs where ${wanted}`.execute(db)
  const [row] = result.rows
  return row === undefined ? null : (await withAttempts(db, [row]))[0]!
}

/** The jobs with their last starts, which are read by one query; by none where no job has begun. */
export async function withAttempts<Row extends VideoJobRow>(
  db: Db,
  rows: readonly Row[],
): Promise<Array<Row & { attempt: RenderAttempt | null }>> {
  const begun = rows.filter(({ attempt_id }) => attempt_id !== null)
  const ids = begun.map(({ id }) => id)
  const last = new Map<string, RenderAttempt>()
  if (ids.length > 0) for (const each of await findAttempts(db, ids)) last.set(each.job_id, each)
  return rows.map((row) => {
    const attempt = last.get(row.id) ?? null
    return { ...row, attempt_id: attempt?.id ?? row.attempt_id, attempt }
  })
}

/** Every start of the jobs, in order; without those of version 0.1.0 that are kept for the names of their renders. */
export async function findAttempts(db: Db, job_ids: readonly string[]): Promise<RenderAttempt[]> {
  const rows = await db
    .selectFrom('video_attempts')
    .selectAll()
    .where('job_id', 'in', job_ids)
    .where('number', '>', 0)
    .orderBy('job_id')
    .orderBy('number')
    .execute()
  return rows as RenderAttempt[]
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
      | 'error_categories'
      | 'attempt_id'
      | 'claim_id'
      | 'claimed_until'
      | 'cancel_due_at'
    >
  >

const CHANGING: ReadonlyArray<keyof JobColumns> = [
  'status',
  'next_run_at',
  'moderated_at',
  'queued_at',
  'render_started_at',
  'completed_at',
  'finished_at',
  'error_code',
  'error_message',
  'error_categories',
  'claim_id',
  'claimed_until',
  'cancel_due_at',
  'engine_prompt',
  'progress',
  'tries',
  'attempt_id',
  'width',
  'height',
  'blob_key',
  'output_sha256',
  'output_size_bytes',
]

const OF_ATTEMPT: ReadonlyArray<keyof RenderAttempt> = [
  'id',
  'job_id',
  'model',
  'number',
  'paid',
  'engine',
  'engine_address',
  'state',
  'ended_because',
  'start_key',
  'render_key',
  'ticket',
  'output',
  'engine_status',
  'created_at',
  'answered_at',
  'delivered_at',
  'missing_since',
  'last_heard_at',
  'ended_at',
]

type JobWrite = { job: Job; set: JobColumns; attempt?: AttemptMove | undefined; begin?: Begun | undefined }

/**
 * The fenced update every status, and everything else about a job and its starts, goes through, of several jobs in one statement. Nothing
 * happens to a job that no longer has the status and claim it was read with; without a claim, as a cancellation is, the start and the
 * version of the row count instead. Returns the ids of the jobs that were written.
 * Throws a unique violation of `video_attempts_number` when another consumer has made this start of a job, of `video_attempts_starting` while
 * a start that looks the same is not settled, and of `video_attempts_render` when the render belongs to another attempt.
 */
export async function writeJobs(db: Db, moves: readonly JobWrite[]): Promise<Set<string>> {
  const columns = sql.join(CHANGING.map((name) => sql.ref(name)))
  const values = sql.join(CHANGING.map((name) => sql.ref(`r.${name}`)))
  const { named, attempts } = attemptWrites(moves)
  const result = await sql<{ id: string }>`-- prepared as write_video_jobs${sql.raw(named)}
    with moved as (
      update video_jobs as j set (${columns}) = (select ${values} from jsonb_populate_record(j, u.set) as r)
      from jsonb_to_recordset(${JSON.stringify(moves.map(fencedMove))}::jsonb)
        as u (id text, was text, claim text, attempt text, version text, set jsonb)
      where j.id = any(${moves.map(({ job }) => job.id)}::text[]) and j.id = u.id and j.status = u.was
        and case when u.claim is null
          then j.attempt_id is not distinct from u.attempt and (u.version is null or j.xmin::text = u.version)
          else j.claim_id = u.claim end
      returning j.id)
    ${attempts}
    select id from moved`.execute(db)
  return new Set(result.rows.map(({ id }) => id))
}

function fencedMove({ job, set }: JobWrite) {
  const { id, status: was, claim_id: claim, attempt_id: attempt, version } = job
  const { output_size_bytes: size } = set
  const columns = size === undefined ? set : { ...set, output_size_bytes: String(size) }
  return { id, was, claim, attempt, version, set: columns }
}

/** The further parts of the statement, and what they add to its name; empty when no start changes, as while a prompt is judged. */
function attemptWrites(moves: readonly JobWrite[]): { named: string; attempts: RawBuilder<unknown> } {
  const changed = moves.flatMap(({ job, attempt, begin }) => [
    ...(attempt ? [{ id: attempt.attempt.id, job_id: job.id, set: attempt.set as Partial<RenderAttempt> }] : []),
    ...(begin?.replaces ? [{ id: begin.replaces, job_id: job.id, set: begin.attempt as Partial<RenderAttempt> }] : []),
  ])
  const inserted = moves.flatMap(({ begin }) => (begin && begin.replaces === null ? [begin.attempt] : []))
  const columns = sql.join(OF_ATTEMPT.map((name) => sql.ref(name)))
  const values = sql.join(OF_ATTEMPT.map((name) => sql.ref(`r.${name}`)))
  const update = sql`, changed as (
      update video_attempts as a set (${columns}) = (select ${values} from jsonb_populate_record(a, u.set) as r)
      from jsonb_to_recordset(${JSON.stringify(changed)}::jsonb) as u (id text, job_id text, set jsonb), moved
      where a.id = any(${changed.map(({ id }) => id)}::text[]) and a.id = u.id and moved.id = u.job_id
      returning a.id)`
  // An attempt that ends here makes room in the indexes for the one that begins: so it is written first.
  const after = changed.length > 0 ? sql`and (select count(*) from changed) is not null` : sql``
  const insert = sql`, begun as (
      insert into video_attempts (${columns})
      select ${columns} from jsonb_populate_recordset(null::video_attempts, ${JSON.stringify(inserted)}::jsonb)
      where job_id in (select id from moved) ${after})`
  const named = `${changed.length > 0 ? '_changing' : ''}${inserted.length > 0 ? '_beginning' : ''}`
  return { named, attempts: sql`${changed.length > 0 ? update : sql``}${inserted.length > 0 ? insert : sql``}` }
}

/**
 * Ends the starts of jobs that have ended. Of a start that was never settled the key is kept, so that its render is not mistaken for
 * another job's.
 */
export async function endAttempts(
  tx: Db,
  ended: ReadonlyArray<{ job_id: string; state: 'completed' | 'canceled' | 'abandoned'; because: string | null }>,
  now: Date,
): Promise<void> {
  if (ended.length === 0) return
  await sql`-- prepared as end_video_attempts
    update video_attempts as a set ended_at = ${now}, ended_because = e.because, output = null,
      state = case when a.ticket is null then 'abandoned' else e.state end
    from jsonb_to_recordset(${JSON.stringify(ended)}::jsonb) as e (job_id text, state text, because text)
    where a.job_id = any(${ended.map(({ job_id }) => job_id)}::text[]) and a.job_id = e.job_id and a.ended_at is null`.execute(
    tx,
  )
}
