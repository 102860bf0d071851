import { sql } from 'kysely'
import type { Context } from '../context.ts'
import type { Db } from '../platform/db/db.ts'
import { freshCache } from '../platform/fresh-cache.ts'
import type { VideoJobRow } from './store.ts'

/** How long a row is kept that nobody asks for. */
const KEPT_MILLISECONDS = 60_000
const ROWS_MAX = 10_000

export type JobCache = {
  /** The organization's job as it is committed at the time of the call or later, whichever process wrote it. */
  read(ctx: Pick<Context, 'db' | 'groups'>, org_id: string, id: string): Promise<VideoJobRow | null>
}

/**
 * Keeps polled jobs in memory, so that a poll reads their version alone: one statement for all polls that arrive while the one before is
 * being answered. A kept row is used only if it is still the current one.
 */
export function openJobCache(): JobCache {
  const now_ms = () => performance.now()
  const rows = freshCache<VersionedJob>({ ttl_ms: KEPT_MILLISECONDS, entries_max: ROWS_MAX, now_ms })
  return {
    async read({ db, groups }, org_id, id) {
      const version = await groups.join<string, string | null>('video-versions', id, (ids) => versionsOf(db, ids))
      if (version === null) return null
      const kept = rows.recall(id)
      const current = kept?.version === version ? kept : await rows.load(id, () => findVersionedJob(db, id))
      return current?.job.org_id === org_id ? current.job : null
    },
  }
}

async function versionsOf(db: Db, ids: readonly string[]): Promise<Array<string | null>> {
  const versions = await findJobVersions(db, [...new Set(ids)])
  return ids.map((id) => versions.get(id) ?? null)
}

/** A job with a mark that changes with every write to its row. */
type VersionedJob = { job: VideoJobRow; version: string }

async function findVersionedJob(db: Db, id: string): Promise<VersionedJob | null> {
  const result = await sql<VideoJobRow & { version: string }>`
    select *, xmin::text as version from video_jobs where id = ${id}`.execute(db)
  const row = result.rows[0]
  if (!row) return null
  const { version, ...job } = row
  return { job, version }
}

/** The versions of those of the jobs that exist. */
async function findJobVersions(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  const result = await sql<{ id: string; version: string }>`-- prepared as video_versions
    select id, xmin::text as version from video_jobs where id = any(${ids}::text[])`.execute(db)
  return new Map(result.rows.map(({ id, version }) => [id, version]))
}
