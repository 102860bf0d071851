import type { Db } from '../../platform/db/db.ts'
import type { VideoJobRow } from '../store.ts'
import { NO_VARIANTS, type StoredVariants, variantColumns } from './variant.ts'

/** Whether they were written: not when the job is gone, or another process wrote its own first. */
export async function saveVariants(
  db: Db,
  { org_id, id }: Pick<VideoJobRow, 'org_id' | 'id'>,
  made: StoredVariants,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('video_jobs')
    .set(variantColumns(made))
    .where('org_id', '=', org_id)
    .where('id', '=', id)
    .where('status', '=', 'completed')
    .where('thumbnail_key', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Whether they were the ones the job has. */
export async function forgetVariants(
  db: Db,
  { org_id, id }: Pick<VideoJobRow, 'org_id' | 'id'>,
  { thumbnail }: StoredVariants,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('video_jobs')
    .set(NO_VARIANTS)
    .where('org_id', '=', org_id)
    .where('id', '=', id)
    .where('thumbnail_key', '=', thumbnail.blob_key)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
