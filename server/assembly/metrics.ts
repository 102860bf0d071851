import { auditMetrics } from '../audit/metrics.ts'
import { billingMetrics } from '../billing/metrics.ts'
import { chatMetrics } from '../chat/observe-turn.ts'
import { engineMetrics } from '../engines/measured.ts'
import { storageMetrics } from '../platform/blobs/metrics.ts'
import { databaseMetrics } from '../platform/db/metrics.ts'
import { httpMetrics } from '../platform/http/observe/metrics.ts'
import { declareMetrics, type Metrics, openMetrics } from '../platform/metrics/metrics.ts'
import { queueMetrics } from '../platform/queue/depth.ts'
import { VERSION } from '../platform/start/version.ts'
import { sweepMetrics } from '../platform/sweep.ts'
import { videoMetrics } from '../videos/pipeline/observe-jobs.ts'
import { webhookMetrics } from '../webhooks/metrics.ts'

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
    ...[httpMetrics, chatMetrics, billingMetrics, videoMetrics, webhookMetrics, engineMetrics],
    ...[queueMetrics, sweepMetrics, auditMetrics, databaseMetrics, storageMetrics, buildMetrics, processMetrics],
  ]
  for (const declare of features) declare(metrics)
  buildMetrics(metrics).info.of(VERSION, process.version).set(1)
  return metrics
}
