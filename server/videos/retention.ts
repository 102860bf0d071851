import { deleteReleasedHolds } from '../billing/store.ts'
import type { Context } from '../context.ts'
import { removeUnneeded } from '../platform/blobs/remove.ts'
import { addSeconds } from '../platform/clock.ts'
import { RECLAIMED_TOPIC } from '../platform/queue/consumer.ts'
import type { Sweep } from '../platform/sweep.ts'
import { deleteExpiredKeys } from './create/idempotency.ts'
import { deleteRecordsUntil } from './moderation/records.ts'
import { deleteVerdictsUntil } from './moderation/verdicts.ts'
import { videoQueues } from './pipeline/claims.ts'
import { VIDEO_TOPIC } from './queues.ts'
import { deleteAttemptsUntil } from './render/store.ts'
import { deleteLinksEndedBy } from './sharing/store.ts'
import { deleteJobsEndedBefore } from './store.ts'

/** Jobs, with prompt and video, are deleted this long after they ended. */
export const JOB_RETENTION_SECONDS = 30 * 86_400
/** Moderation records are deleted this long after the moderation, whatever happens to the video. */
export const RECORD_RETENTION_SECONDS = 30 * 86_400

const BATCH = 500
/** Leases that ended just now. All others are looked for once a minute: the entries of past leases stay in the index while a snapshot is held. */
const RECENT = { expired_seconds_max: 30 }

/** The periodic duties of video jobs. */
export function videoSweeps(ctx: Context): Sweep[] {
  return [
    { name: 'videos.reclaim', every_seconds: 2, run: () => reclaimJobs(ctx, RECENT) },
    { name: 'videos.reclaim_all', every_seconds: 60, run: () => reclaimJobs(ctx, {}) },
    { name: 'videos.retention', every_seconds: 300, run: () => removeOldJobs(ctx) },
    { name: 'videos.records', every_seconds: 300, run: () => removeOldRecords(ctx) },
  ]
}

/** Frees jobs, and cancellations, whose consumer died. */
async function reclaimJobs(
  ctx: Pick<Context, 'db' | 'changes' | 'log'>,
  expired: { expired_seconds_max?: number },
): Promise<void> {
  for (const { queue, claims } of videoQueues) {
    const count = await claims.releaseExpired(ctx.db, expired)
    if (count === 0) continue
    ctx.changes.announce(RECLAIMED_TOPIC, queue)
    ctx.log.warn('jobs_reclaimed', { count })
  }
}

async function removeOldJobs(ctx: Pick<Context, 'db' | 'clock' | 'blobs' | 'changes'>): Promise<void> {
  const before = addSeconds(ctx.clock.now(), -JOB_RETENTION_SECONDS)
  for (;;) {
    const removed = await ctx.db.transaction().execute(async (tx) => {
      const jobs = await deleteJobsEndedBefore(tx, before, BATCH)
      if (jobs.length > 0)
        await deleteReleasedHolds(
          tx,
          jobs.map(({ id }) => id),
        )
      return jobs
    })
    for (const { id, blob_keys } of removed) {
      ctx.changes.announce(VIDEO_TOPIC, id)
      await removeUnneeded(ctx.blobs, blob_keys)
    }
    if (removed.length < BATCH) return
  }
}

async function removeOldRecords(ctx: Pick<Context, 'db' | 'clock'>): Promise<void> {
  const now = ctx.clock.now()
  const before = addSeconds(now, -RECORD_RETENTION_SECONDS)
  while ((await deleteRecordsUntil(ctx.db, before, BATCH)) === BATCH);
  while ((await deleteAttemptsUntil(ctx.db, before, BATCH)) === BATCH);
  while ((await deleteVerdictsUntil(ctx.db, before, BATCH)) === BATCH);
  while ((await deleteExpiredKeys(ctx.db, now, BATCH)) === BATCH);
  while ((await deleteLinksEndedBy(ctx.db, now, BATCH)) === BATCH);
}
