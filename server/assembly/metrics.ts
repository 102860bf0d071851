import { auditMetrics, measureAudit } from '../audit/metrics.ts'
import { billingMetrics } from '../billing/metrics.ts'
import { chatMetrics } from '../chat/record-exchange.ts'
import type { LiveContext } from '../context.ts'
import { breakerMetrics } from '../engines/breaker-metrics.ts'
import { engineMetrics } from '../engines/measured.ts'
import { measureStorage, storageMetrics } from '../platform/blobs/metrics.ts'
import { databaseMetrics, measureDatabase } from '../platform/db/metrics.ts'
import { httpMetrics } from '../platform/http/telemetry/metrics.ts'
import { declareMetrics, type Metrics, openMetrics } from '../platform/metrics/metrics.ts'
import { measureQueues, queueMetrics } from '../platform/queue/depth.ts'
import { VERSION } from '../platform/start/version.ts'
import { sweepMetrics } from '../platform/sweep.ts'
import { measuredResponseQueue } from '../responses/background/claims.ts'
import { measuredVideoQueues } from '../videos/pipeline/claims.ts'
import { videoMetrics } from '../videos/pipeline/job-telemetry.ts'
import { measureRenders, renderMetrics } from '../videos/render/metrics.ts'
import { measureEndpoints, webhookMetrics } from '../webhooks/metrics.ts'
import { measuredDeliveryQueue } from '../webhooks/store/delivery-claims.ts'
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
export function measureService(ctx: LiveContext): void {
  const { metrics, db, blobs } = ctx
  measureDatabase(metrics, db)
  measureStorage(metrics, blobs)
  measureAudit(metrics, db)
  measureQueues(ctx, [...measuredVideoQueues(ctx), measuredResponseQueue(ctx), measuredDeliveryQueue])
  measureRenders(ctx)
  measureEndpoints(metrics, db)
}
