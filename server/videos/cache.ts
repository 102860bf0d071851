import type { Changes } from '../platform/db/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { VIDEO_TOPIC } from './queues.ts'
import { findJob, type VideoJobRow } from './store.ts'

/** A row is kept at most this long, so that a lost announcement shows for a second at worst. */
const KEPT_MILLISECONDS = 1000
const ROWS_MAX = 10_000

export type JobCache = {
  /** The organization's job, from memory when it was read within the last second and has not changed since. */
  read(db: Db, org_id: string, id: string): Promise<VideoJobRow | null>
  close(): void
}

/** Keeps polled jobs in memory: a poll then costs no query. Dropped on change and after a second. */
export function openJobCache(changes: Changes): JobCache {
  const kept = new Map<string, { row: VideoJobRow; until: number }>()
  const loading = new Map<string, Promise<VideoJobRow | null>>()
  const close = changes.on(VIDEO_TOPIC, (id) => {
    if (id === null) {
      kept.clear()
      loading.clear()
      return
    }
    kept.delete(id)
    loading.delete(id)
  })
  const load = async (db: Db, org_id: string, id: string) => {
    const promise = findJob(db, org_id, id)
    loading.set(id, promise)
    try {
      const row = await promise
      // A change announced meanwhile has taken the promise away: the row may be old and is not kept.
      if (row && loading.get(id) === promise) keep(kept, row)
      return row
    } finally {
      if (loading.get(id) === promise) loading.delete(id)
    }
  }
  return {
    async read(db, org_id, id) {
      const hit = kept.get(id)
      if (hit && hit.until > performance.now() && hit.row.org_id === org_id) return hit.row
      return load(db, org_id, id)
    },
    close,
  }
}

function keep(kept: Map<string, { row: VideoJobRow; until: number }>, row: VideoJobRow): void {
  kept.delete(row.id)
  kept.set(row.id, { row, until: performance.now() + KEPT_MILLISECONDS })
  if (kept.size > ROWS_MAX) kept.delete(kept.keys().next().value!)
}
