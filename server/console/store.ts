import type { Db } from '../platform/db.ts'
import type { VideoJobRow } from '../videos/store.ts'

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
