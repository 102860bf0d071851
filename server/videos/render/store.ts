import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/db/db.ts'

type VideoRendersTable = { render_key: string; job_id: string; created_at: Date }
type UnsettledStartsTable = { job_id: string; start_key: string; created_at: Date }

declare module '../../platform/db/db.ts' {
  interface Database {
    video_renders: VideoRendersTable
    video_unsettled_starts: UnsettledStartsTable
  }
}

/** Records which job each render belongs to; the first job to record it has it. Returns the jobs whose render belongs to another. */
export async function recordRenders(
  tx: Db,
  renders: ReadonlyArray<{ render_key: string; job_id: string; created_at: Date }>,
): Promise<Set<string>> {
  await tx
    .insertInto('video_renders')
    .values(renders)
    .onConflict((conflict) => conflict.column('render_key').doNothing())
    .execute()
  const keys = renders.map(({ render_key }) => render_key)
  const rows = await tx
    .selectFrom('video_renders')
    .select(['render_key', 'job_id'])
    .where('render_key', 'in', keys)
    .execute()
  const owners = new Map(rows.map(({ render_key, job_id }) => [render_key, job_id]))
  return new Set(renders.flatMap(({ render_key, job_id }) => (owners.get(render_key) === job_id ? [] : [job_id])))
}

/** Those of the renders that belong to other jobs, of any organization. */
export async function findForeignRenders(
  db: Db,
  { render_keys, job_id }: { render_keys: readonly string[]; job_id: string },
): Promise<Set<string>> {
  if (render_keys.length === 0) return new Set()
  const rows = await db
    .selectFrom('video_renders')
    .select('render_key')
    .where('render_key', 'in', render_keys)
    .where('job_id', '!=', job_id)
    .execute()
  return new Set(rows.map(({ render_key }) => render_key))
}

/** Forgets up to `limit` renders recorded before `before`; an attempt that may look for one is never that old. */
export async function deleteRendersUntil(db: Db, before: Date, limit: number): Promise<number> {
  const oldest = db
    .selectFrom('video_renders')
    .select('render_key')
    .where('created_at', '<=', before)
    .orderBy('created_at')
    .limit(limit)
  const deleted = await db.deleteFrom('video_renders').where('render_key', 'in', oldest).executeTakeFirst()
  return Number(deleted.numDeletedRows)
}

/** Records those of the jobs that ended before the outcome of their last start was known. */
export async function keepUnsettledStarts(
  tx: Db,
  { job_ids, now }: { job_ids: readonly string[]; now: Date },
): Promise<void> {
  if (job_ids.length === 0) return
  await sql`
    insert into video_unsettled_starts (job_id, start_key, created_at)
    select id, start_key, ${now} from video_jobs
    where id = any(${job_ids as string[]}) and start_key is not null
    on conflict do nothing`.execute(tx)
}

/** Whether a start that the engine's list shows like this one was left unsettled by another job, of any organization. */
export async function hasUnsettledStart(
  db: Db,
  { start_key, job_id, since }: { start_key: string; job_id: string; since: Date },
): Promise<boolean> {
  const row = await db
    .selectFrom('video_unsettled_starts')
    .select('job_id')
    .where('start_key', '=', start_key)
    .where('job_id', '!=', job_id)
    .where('created_at', '>', since)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Forgets starts left unsettled at or before `before`. */
export async function deleteUnsettledStartsUntil(db: Db, before: Date): Promise<void> {
  await db.deleteFrom('video_unsettled_starts').where('created_at', '<=', before).execute()
}

/**
 * How many renders of a model an engine has, or may have. Until the transaction ends nobody else counts them, so that two starts cannot
 * both take the last place.
 */
export async function countRenders(tx: Tx, { model, engine }: { model: string; engine: string }): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`video-engine:${model}:${engine}`}, 0))`.execute(tx)
  const { n } = await tx
    .selectFrom('video_jobs')
    .select((eb) => eb.fn.countAll<string>().as('n'))
    .where('model', '=', model)
    .where('engine', '=', engine)
    .where('finished_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(n)
}

/** Where renders of these models are begun that have not ended, or are still to be stopped. Null: none of the job is begun. */
export async function findUnfinishedEngines(
  db: Db,
  models: readonly string[],
): Promise<Array<{ model: string; engine_address: string | null }>> {
  return db
    .selectFrom('video_jobs')
    .select(['model', 'engine_address'])
    .distinct()
    .where('model', 'in', models)
    .where((eb) => eb.or([eb('finished_at', 'is', null), eb('cancel_due_at', 'is not', null)]))
    .execute()
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
