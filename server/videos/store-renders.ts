import type { Db } from '../platform/db.ts'

type VideoRendersTable = { render_key: string; job_id: string; created_at: Date }
type UnsettledStartsTable = { job_id: string; start_key: string; created_at: Date }

declare module '../platform/db.ts' {
  interface Database {
    video_renders: VideoRendersTable
    video_unsettled_starts: UnsettledStartsTable
  }
}

/** Records that a render is this job's. False when it belongs to another job. */
export async function recordRender(
  tx: Db,
  render: { render_key: string; job_id: string; created_at: Date },
): Promise<boolean> {
  const { render_key, job_id } = render
  const inserted = await tx
    .insertInto('video_renders')
    .values(render)
    .onConflict((conflict) => conflict.column('render_key').doNothing())
    .executeTakeFirst()
  if (inserted.numInsertedOrUpdatedRows === 1n) return true
  const owned = await tx
    .selectFrom('video_renders')
    .select('job_id')
    .where('render_key', '=', render_key)
    .executeTakeFirst()
  return owned?.job_id === job_id
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

/** Records that a job ended before it was known whether its last start had begun a render. */
export async function keepUnsettledStart(
  tx: Db,
  start: { job_id: string; start_key: string; created_at: Date },
): Promise<void> {
  await tx
    .insertInto('video_unsettled_starts')
    .values(start)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
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
