import { auditMetrics, observeAudit } from '../audit/metrics.ts'
import { billingMetrics } from '../billing/metrics.ts'
import { chatMetrics } from '../chat/record-exchange.ts'
import type { LiveContext } from '../context.ts'
import { breakerMetrics } from '../engines/breaker-metrics.ts'
import { engineMetrics } from '../engines/measured.ts'
import { observeStorage, storageMetrics } from '../platform/blobs/metrics.ts'
import { databaseMetrics, observeDatabase } from '../platform/db/metrics.ts'
import { httpMetrics } from '../platform/http/observe/metrics.ts'
import { declareMetrics, type Metrics, openMetrics } from '../platform/metrics/metrics.ts'
import { observeQueues, queueMetrics } from '../platform/queue/depth.ts'
import { VERSION } from '../platform/start/version.ts'
import { sweepMetrics } from '../platform/sweep.ts'
import { observedResponseQueue } from '../responses/background/claims.ts'
import { observedVideoQueues } from '../videos/pipeline/claims.ts'
import { videoMetrics } from '../videos/pipeline/observe-jobs.ts'
import { observeRenders, renderMetrics } from '../videos/render/metrics.ts'
import { observeEndpoints, webhookMetrics } from '../webhooks/metrics.ts'
import { observedDeliveryQueue } from '../webhooks/store/delivery-claims.ts'
import { healthMetrics } from './health.ts'

const buildMetrics = declareMetrics((metrics) => ({
  info: metrics.gauge({
    name: 'kinora_build_info',
    help: 'Always 1. The versions are in the labels.',
    labels: ['version', 'node'],
    merge: 'max',
  }),
}))

export const processMetrics = declareMetrics((metrics) => ({
  restarts: metrics.counter({
    name: 'kinora_http_process_restarts_total',
    help: 'HTTP processes started to replace one that ended or did not start.',
  }),
}))

/** The metrics of every feature. */
export function openAppMetrics(): Metrics {
  const metrics = openMetrics()
  const features = [
    ...[httpMetrics, chatMetrics, billingMetrics, videoMetrics, renderMetrics, webhookMetrics, engineMetrics],
    ...[breakerMetrics, queueMetrics, sweepMetrics, auditMetrics, databaseMetrics, storageMetrics, healthMetrics],
    ...[buildMetrics, processMetrics],
  ]
  for (const declare of features) declare(metrics)
  buildMetrics(metrics).info.of(VERSION, process.version).set(1)
  return metrics
}

/**
 * Reports what all nodes share: the database, the storage and what is in them. For one process of each node, whatever its role: it is asked for
 * while every node that works on jobs is away.
 */
export function observeService(ctx: LiveContext): void {
  const { metrics, db, blobs } = ctx
  observeDatabase(metrics, db)
  observeStorage(metrics, blobs)
  observeAudit(metrics, db)
  observeQueues(ctx, [...observedVideoQueues(ctx), observedResponseQueue(ctx), observedDeliveryQueue])
  observeRenders(ctx)
  observeEndpoints(metrics, db)
}
