import { sql } from 'kysely'
import type { Context } from '../context.ts'
import type { Changes } from '../platform/db/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { freshCache } from '../platform/fresh-cache.ts'
import { VIDEO_TOPIC } from './queues.ts'
import type { VideoJobRow } from './store.ts'

/** How long a row is kept that is compared with the database each time. */
const COMPARED_MILLISECONDS = 60_000
/** How long one is believed where every change is announced: `kinora admin` announces its own best effort. */
const BELIEVED_MILLISECONDS = 1000
const ROWS_MAX = 10_000

export type JobCache = {
  /** The organization's job as it is committed at the time of the call or later, whichever process wrote it. */
  read(ctx: Pick<Context, 'db' | 'groups'>, org_id: string, id: string): Promise<VideoJobRow | null>
  close(): void
}

/**
 * Keeps polled jobs in memory. Where this process is the `only` one of the service it hears of every change before its answer, and most
 * polls cost no query. Otherwise a kept row is used only if it is still the current one: a poll reads its version, in one statement for all
 * polls that arrive while the one before is being answered.
 */
export function openJobCache({ changes, only }: { changes: Changes; only: boolean }): JobCache {
  const ttl_ms = only ? BELIEVED_MILLISECONDS : COMPARED_MILLISECONDS
  const rows = freshCache<VersionedJob>({ ttl_ms, entries_max: ROWS_MAX, now_ms: () => performance.now() })
  const close = changes.on(VIDEO_TOPIC, (id) => (id === null ? rows.clear() : rows.forget(id)))
  const current = async ({ db, groups }: Pick<Context, 'db' | 'groups'>, id: string) => {
    const kept = rows.recall(id)
    if (kept && only) return kept
    if (kept) {
      const version = await groups.join<string, string | null>('video-versions', id, (ids) => versionsOf(db, ids))
      if (kept.version === version) return kept
    }
    return rows.load(id, () => findVersionedJob(db, id))
  }
  return {
    async read(ctx, org_id, id) {
      const found = await current(ctx, id)
      return found?.job.org_id === org_id ? found.job : null
    },
    close,
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
