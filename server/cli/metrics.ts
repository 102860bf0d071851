import cluster from 'node:cluster'
import type { Config } from '../config/config.ts'
import type { Log } from '../platform/log.ts'
import { processReader, TEXT_TYPE } from '../platform/metrics/exposition.ts'
import { listenForScrapes } from '../platform/metrics/listen.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import { answerReadings, serviceReader } from '../platform/metrics/workers.ts'

/** Serves the metrics of this service, of all its processes. Throws StartError with the remedy when its port cannot be had. */
export async function serveMetrics(
  at: NonNullable<Config['metrics']>,
  metrics: Metrics,
  log: Log,
): Promise<{ url: string; close(): Promise<void> }> {
  const workers = () => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
  const read = serviceReader(processReader(metrics), workers)
  const serving = await listenForScrapes(at, { read, content_type: TEXT_TYPE, log })
  log.info('metrics_listening', { url: serving.url })
  if (!LOOPBACK.test(at.host)) log.warn('metrics_exposed', { detail: `no login is asked for on ${serving.url}` })
  return serving
}

/** In an HTTP process of a service that serves metrics. */
export function shareMetrics(metrics: Metrics): void {
  answerReadings(processReader(metrics))
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/
