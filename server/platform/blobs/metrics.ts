import { declareMetrics, type Metrics } from '../metrics/metrics.ts'
import { refreshGauges } from '../metrics/refresh.ts'
import type { Blobs } from './blobs.ts'

export const storageMetrics = declareMetrics((metrics) => ({
  reachable: metrics.gauge({
    name: 'kinora_storage_reachable',
    help: '1 when the storage answered the last reading, else 0. A disk always does.',
    merge: 'max',
  }),
}))

/** Reports whether the storage answers. For one process of a service. */
export function observeStorage(metrics: Metrics, blobs: Pick<Blobs, 'check'>): void {
  const { reachable } = storageMetrics(metrics)
  refreshGauges(metrics, {
    read: () => blobs.check(),
    set: () => reachable.of().set(1),
    unknown: () => reachable.of().set(0),
  })
}
