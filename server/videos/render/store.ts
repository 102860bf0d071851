import { type ColumnType, sql } from 'kysely'
import type { JsonValue, Ticket } from '../../engines/video/contract.ts'
import type { Db, Tx } from '../../platform/db/db.ts'
import type { RenderAttempt } from './attempt.ts'

type VideoAttemptsTable = Omit<RenderAttempt, 'ticket' | 'output'> & {
  ticket: ColumnType<Ticket, string | null, string | null>
  output: ColumnType<JsonValue, string | null, string | null>
}
declare module '../../platform/db/db.ts' {
  interface Database {
    video_attempts: VideoAttemptsTable
  }
}

/**
 * Records which attempt a render belongs to that came too late for the outcome of its step. False when it belongs to another one already.
 */
export async function recordRender(
  db: Db,
  { id, render_key, ticket, now }: { id: string; render_key: string; ticket: Ticket; now: Date },
): Promise<boolean> {
  const result = await sql`
    update video_attempts set render_key = ${render_key}, ticket = ${JSON.stringify(ticket)}::jsonb, answered_at = ${now}, start_key = null
    where id = ${id} and render_key is null and not exists (select from video_attempts where render_key = ${render_key})`.execute(
    db,
  )
  return Number(result.numAffectedRows) > 0
}

/** Those of the renders that belong to other jobs, of any organization. */
export async function findForeignRenders(
  db: Db,
  { render_keys, job_id }: { render_keys: readonly string[]; job_id: string },
): Promise<Set<string>> {
  if (render_keys.length === 0) return new Set()
  const rows = await db
    .selectFrom('video_attempts')
    .select('render_key')
    .where('render_key', 'in', render_keys)
    .where('job_id', '!=', job_id)
    .execute()
  return new Set(rows.flatMap(({ render_key }) => (render_key === null ? [] : [render_key])))
}

/** Whether a start that the engine's list shows like this one was left unsettled by another job, of any organization. */
export async function hasUnsettledStart(
  db: Db,
  { start_key, job_id, since }: { start_key: string; job_id: string; since: Date },
): Promise<boolean> {
  const row = await db
    .selectFrom('video_attempts')
    .select('id')
    .where('start_key', '=', start_key)
    .where('job_id', '!=', job_id)
    .where('ended_at', '>', since)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Forgets up to `limit` attempts that began before `before`: a job that may look for its render is never that old. */
export async function deleteAttemptsUntil(db: Db, before: Date, limit: number): Promise<number> {
  const result = await sql`
    delete from video_attempts where id in (
      select id from video_attempts where created_at <= ${before} and ended_at is not null order by created_at limit ${limit})`.execute(
    db,
  )
  return Number(result.numAffectedRows)
}

/**
 * How many renders of a model an engine has, or may have, for other jobs. Until the transaction ends nobody else counts them, so that two
 * starts cannot both take the last place.
 */
export async function countRenders(
  tx: Tx,
  { model, engine, job_id }: { model: string; engine: string; job_id: string },
): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`video-engine:${model}:${engine}`}, 0))`.execute(tx)
  const { n } = await tx
    .selectFrom('video_attempts')
    .select((eb) => eb.fn.countAll<string>().as('n'))
    .where('model', '=', model)
    .where('engine', '=', engine)
    .where('job_id', '!=', job_id)
    .where('ended_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(n)
}

type RendersOfEngine = { model: string; engine: string | null; count: number }

/** As `countRenders`, for each engine with a name that has any, and for nobody who is about to start one. */
export async function countRendersOfEngines(db: Db): Promise<RendersOfEngine[]> {
  const result = await sql<RendersOfEngine>`
    select model, engine, count(*)::int as count from video_attempts
    where engine is not null and ended_at is null group by model, engine`.execute(db)
  return result.rows
}

/** As `countRendersOfEngines`, and the renders of unfinished jobs on engines that are the only one of their model. */
export async function countRendersOfAll(db: Db): Promise<RendersOfEngine[]> {
  const sole = await sql<RendersOfEngine>`
    select a.model, a.engine, count(*)::int as count from video_jobs j join video_attempts a on a.id = j.attempt_id
    where j.finished_at is null and a.ended_at is null and a.engine is null group by a.model, a.engine`.execute(db)
  return [...(await countRendersOfEngines(db)), ...sole.rows]
}

/** Where renders of these models are begun that have not ended, or are still to be stopped. Null: none of the job is begun. */
export async function findUnfinishedEngines(
  db: Db,
  models: readonly string[],
): Promise<Array<{ model: string; engine_address: string | null }>> {
  const result = await sql<{ model: string; engine_address: string | null }>`
    select distinct j.model, a.engine_address
    from video_jobs j left join video_attempts a on a.id = j.attempt_id and (a.state <> 'not_begun' or a.number > 1)
    where j.model = any(${[...models]}::text[]) and (j.finished_at is null or j.cancel_due_at is not null)`.execute(db)
  return result.rows
}

/** Which of these blobs belong to a job. */
export async function findKnownBlobs(db: Db, keys: readonly string[]): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const [clips, thumbnails, spritesheets] = ['blob_key', 'thumbnail_key', 'spritesheet_key'].map((name) => {
    const column = sql.ref(name)
    return sql`select ${column} as key from video_jobs where ${column} = any(${[...keys]}::text[])`
  })
  const found = await sql<{ key: string }>`${clips} union all ${thumbnails} union all ${spritesheets}`.execute(db)
  return new Set(found.rows.map(({ key }) => key))
}

/** Every blob that a job names. */
export const NAMED_VIDEO_BLOBS = `
  select blob_key as key, output_sha256 as sha256, output_size_bytes as size_bytes from video_jobs where blob_key is not null
  union all select thumbnail_key, thumbnail_sha256, thumbnail_size_bytes from video_jobs where thumbnail_key is not null
  union all select spritesheet_key, spritesheet_sha256, spritesheet_size_bytes from video_jobs where spritesheet_key is not null`
