import type { Context } from '../context.ts'
import { ApiError, notFound } from '../platform/errors.ts'
import { DELETED_TOPIC, VIDEO_TOPIC } from './queues.ts'
import { deleteEndedJob } from './store.ts'

/**
 * Deletes a job that has ended, with its video, for good. Ledger entries and the moderation record stay; uploaded files are left alone.
 * Throws ApiError `not_found`, or `conflict` while the job is still running or under review.
 */
export async function removeJob(
  ctx: Pick<Context, 'db' | 'blobs' | 'changes'>,
  { org_id, id }: { org_id: string; id: string },
): Promise<void> {
  const deleted = await deleteEndedJob(ctx.db, org_id, id)
  if (deleted === null) throw notFound('video')
  if (deleted === 'running') {
    throw new ApiError(
      'conflict',
      'A job that is running or under review cannot be deleted. Cancel it first, or wait for it to end.',
    )
  }
  ctx.changes.announce(VIDEO_TOPIC, id)
  ctx.changes.announce(DELETED_TOPIC, `${org_id}/${id}`)
  if (deleted.blob_key !== null) await ctx.blobs.remove(deleted.blob_key)
}
