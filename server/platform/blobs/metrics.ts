import { CALL_BUCKETS, declareMetrics, type Metrics } from '../metrics/metrics.ts'
import { refreshGauges } from '../metrics/refresh.ts'
import { streakGauge } from '../metrics/streaks.ts'
import { BlobMissing, type Blobs, BlobsAway, DiskFull } from './blobs.ts'

export const storageMetrics = declareMetrics((metrics) => ({
  reachable: metrics.gauge({
    name: 'kinora_storage_reachable',
    help: '1 when the storage answered the last reading, else 0. A disk always does.',
    merge: 'max',
  }),
  seconds: metrics.histogram({
    name: 'kinora_storage_call_duration_seconds',
    help: 'Time that calls of the bucket took until their answer began; of Upload, until it ended. Failed ones are included.',
    labels: ['operation'],
    buckets: [...CALL_BUCKETS, 300, 900],
  }),
  errors: metrics.counter({
    name: 'kinora_storage_errors_total',
    help: 'Calls of the bucket that failed, after all tries: it was away, or full.',
    labels: ['operation', 'kind'],
  }),
  failing: streakGauge(metrics, {
    name: 'kinora_storage_failing_seconds',
    help: 'For how long every call of an operation has failed: from the first to the last failure since one worked.',
    labels: ['operation'],
  }),
}))

/** Makes a call of a bucket and records how it ends. */
export type MeasureCall = <T>(operation: string, call: () => Promise<T>) => Promise<T>

/** For each bucket. A blob that is not there, or is damaged, says nothing against the bucket. */
export function storageMeasurer(metrics: Metrics): MeasureCall {
  const { seconds, errors, failing } = storageMetrics(metrics)
  const open = (operation: string) => ({
    time: seconds.of(operation),
    streak: failing.of(operation),
    kinds: { away: errors.of(operation, 'away'), full: errors.of(operation, 'full') },
  })
  const operations = new Map<string, ReturnType<typeof open>>()
  return async (operation, call) => {
    const { time, streak, kinds } = operations.get(operation) ?? open(operation)
    operations.set(operation, { time, streak, kinds })
    const began = performance.now()
    try {
      const result = await call()
      streak.worked()
      return result
    } catch (error) {
      if (error instanceof BlobMissing) streak.worked()
      else if (error instanceof DiskFull || (error instanceof BlobsAway && !error.damaged)) {
        kinds[error instanceof DiskFull ? 'full' : 'away'].add(1)
        streak.failed()
      }
      throw error
    } finally {
      time.observe((performance.now() - began) / 1000)
    }
  }
}

/** Reports whether the storage answers. For one process of a service. */
export function measureStorage(metrics: Metrics, blobs: Pick<Blobs, 'check'>): void {
  const { reachable } = storageMetrics(metrics)
  refreshGauges(metrics, {
    read: () => blobs.check(),
    set: () => reachable.of().set(1),
    unknown: () => reachable.of().set(0),
  })
}
