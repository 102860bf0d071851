import type { Changes } from '../platform/db/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { freshCache } from '../platform/fresh-cache.ts'
import { VIDEO_TOPIC } from './queues.ts'
import { findJob, type VideoJobRow } from './store.ts'

/** Rows expire after this time, which bounds how long a lost announcement shows. */
const KEPT_MILLISECONDS = 1000
const ROWS_MAX = 10_000

export type JobCache = {
  /** The organization's job, from memory if it was read within the last second and no change was announced since. */
  read(db: Db, org_id: string, id: string): Promise<VideoJobRow | null>
  close(): void
}

/** Keeps polled jobs in memory, so that most polls cost no query. A row is dropped when it changes, and after a second. */
export function openJobCache(changes: Changes): JobCache {
  const now_ms = () => performance.now()
  const rows = freshCache<VideoJobRow>({ ttl_ms: KEPT_MILLISECONDS, entries_max: ROWS_MAX, now_ms })
  const close = changes.on(VIDEO_TOPIC, (id) => (id === null ? rows.clear() : rows.forget(id)))
  return {
    async read(db, org_id, id) {
      const kept = rows.recall(id)
      // Loads are not shared: another organization's query for the same id finds nothing.
      return kept?.org_id === org_id ? kept : rows.load(id, () => findJob(db, org_id, id))
    },
    close,
  }
}
