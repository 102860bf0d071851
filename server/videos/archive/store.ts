import { sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import type { VideoJobRow } from '../store.ts'

/** More than a file is named after. */
const PROMPT_CHARACTERS = 500

export type ArchivedJob = Pick<
  VideoJobRow,
  'id' | 'status' | 'prompt' | 'created_at' | 'blob_key' | 'output_size_bytes'
> & {
  name: string | null
}

/** Those of the jobs that the organization has, with the beginnings of their prompts, in the order of the ids. */
export async function findArchivedJobs(db: Db, org_id: string, ids: readonly string[]): Promise<ArchivedJob[]> {
  const { rows } = await sql<ArchivedJob>`
    select j.id, j.status, left(j.prompt, ${PROMPT_CHARACTERS}) as prompt, j.created_at, j.blob_key, j.output_size_bytes, l.name
    from video_jobs j left join video_labels l on l.job_id = j.id and l.org_id = ${org_id}
    where j.org_id = ${org_id} and j.id = any(${ids}::text[])
    order by array_position(${ids}::text[], j.id)`.execute(db)
  return rows
}
