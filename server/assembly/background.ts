import type { Kysely } from 'kysely'
import type pg from 'pg'
import { auditSweep } from '../audit/audit.ts'
import { storageSweep } from '../billing/storage/gate.ts'
import type { Context, LiveContext } from '../context.ts'
import { conversationSweep } from '../conversations/remove.ts'
import type { KnownBlobs } from '../files/installation.ts'
import { filesSweep, orphanSweep, stagedSweep } from '../files/retention.ts'
import { knownFileBlobs, NAMED_FILE_BLOBS } from '../files/store/files.ts'
import { activitySweep } from '../identity/activity/activity.ts'
import { scratchSweep } from '../media/scratch.ts'
import { operationsSweeps } from '../operations/sweeps.ts'
import type { Database, Db } from '../platform/db/db.ts'
import { onOneConnection } from '../platform/db/one-connection.ts'
import { type Presence, watchConsumers } from '../platform/queue/presence.ts'
import { measuredSweep, type Sweep, startSweeps, sweepMetrics } from '../platform/sweep.ts'
import { responseQueue } from '../responses/background/claims.ts'
import { startResponseConsumer } from '../responses/background/response-consumer.ts'
import type { ResponseDeps } from '../responses/call.ts'
import { responseSweeps } from '../responses/sweeps.ts'
import { videoQueues } from '../videos/pipeline/claims.ts'
import { expectEnds } from '../videos/pipeline/job-telemetry.ts'
import { startPipeline } from '../videos/pipeline/video-consumer.ts'
import { findKnownBlobs, NAMED_VIDEO_BLOBS } from '../videos/render/store.ts'
import { videoSweeps } from '../videos/retention.ts'
import type { Variants } from '../videos/variants/prepare.ts'
import { startDeliveryConsumer } from '../webhooks/delivery-consumer.ts'
import { deliveryQueue } from '../webhooks/store/delivery-claims.ts'
import { webhookSweeps } from '../webhooks/sweeps.ts'

export type Background = { stop(): Promise<void> }

type BackgroundOptions = {
  pool: pg.Pool
  responding: ResponseDeps
  variants: Pick<Variants, 'expect'>
  /** No other process can be at work on this database. */
  sole: boolean
  /** How the others see this process; null when it is the only one. */
  presence: Presence | null
}

/** Works on jobs, responses and deliveries, and runs the sweeps, until `stop`. */
export function startBackground(
  ctx: LiveContext,
  { pool, responding, variants, sole, presence }: BackgroundOptions,
): Background {
  const { db, log, metrics, config } = ctx
  expectEnds(metrics, config.video_models)
  const consumer = { sole, consumer_id: presence?.consumer_id }
  const consumers = [
    startPipeline(ctx, { ...consumer, on_completed: variants.expect }),
    startResponseConsumer(ctx, responding, { ...consumer, share: config.limits.pipeline_concurrency }),
    startDeliveryConsumer(ctx, consumer),
  ]
  const watching = presence ? watchForDead(ctx) : null
  const sweeps = allSweeps(ctx, db).map((sweep) => measuredSweep(ctx, sweep))
  const { failures } = sweepMetrics(metrics)
  const failed = (error: unknown, sweep: string) => {
    failures.of(sweep).add(1)
    log.error('sweep_failed', { sweep, error })
  }
  const sweeping = startSweeps(sweeps, { pool: onOneConnection(pool), on_error: failed })
  return {
    async stop() {
      await Promise.all([sweeping.stop(), watching?.stop(), ...consumers.map((each) => each.stop())])
      await presence?.leave(db).catch(() => {})
    },
  }
}

/** Reclaims the rows of processes that died. */
function watchForDead({ db, changes, log }: Context): { stop(): Promise<void> } {
  return watchConsumers({
    db,
    changes,
    queues: [...videoQueues, responseQueue, deliveryQueue],
    on_released: (count) => log.warn('rows_reclaimed', { count }),
    on_error: (error) => log.error('queue_failed', { error }),
  })
}

/** Every periodic duty. */
export function allSweeps(ctx: Context, db: Kysely<Database>): Sweep[] {
  return [
    ...videoSweeps(ctx),
    ...responseSweeps(ctx),
    ...webhookSweeps(ctx),
    conversationSweep(ctx),
    filesSweep(ctx),
    scratchSweep(ctx),
    stagedSweep(ctx),
    orphanSweep(ctx, blobsKnown(db)),
    storageSweep(ctx),
    auditSweep(ctx),
    activitySweep(ctx),
    ...operationsSweeps(ctx),
  ]
}

/** For each feature that keeps blobs, a query for the keys that its rows need. */
export function blobsKnown(db: Db): KnownBlobs[] {
  return [(keys) => knownFileBlobs(db, keys), (keys) => findKnownBlobs(db, keys)]
}

/** For each feature that keeps blobs, the statement that names all of them: key, sha256, size_bytes. */
export const NAMED_BLOBS: readonly string[] = [NAMED_FILE_BLOBS, NAMED_VIDEO_BLOBS]
