import { AggregatorRegistry, collectDefaultMetrics, Registry } from 'prom-client'
import type { Metrics, ReadMetric } from './metrics.ts'

/** What `toText` returns. */
export const TEXT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

/** Everything this process reports: its own metrics, and those of Node and the operating system. One for each process. */
export function processReader(metrics: Metrics): () => Promise<ReadMetric[]> {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return async () => {
    const [own, ofNode] = await Promise.all([metrics.read(), registry.getMetricsAsJSON()])
    const kept = ofNode.filter(({ name }) => !MISNAMED.test(name))
    return [...own, ...kept.map((metric) => ({ ...metric, aggregator: mergedBy(metric) }) as unknown as ReadMetric)]
  }
}

/** Sums of gauges that others give by type, under names that Prometheus reserves for counters. */
const MISNAMED = /^nodejs_active_\w+_total$/

/** Writes what the processes of one service read as one text for Prometheus: sums, or the largest where a sum would mean nothing. */
export async function toText(processes: ReadonlyArray<readonly ReadMetric[]>): Promise<string> {
  const aggregated = AggregatorRegistry.aggregate(processes as unknown as object[])
  return aggregated.metrics()
}

/**
 * The busiest process decides where prom-client takes the mean, which hides one that hangs among several that idle. The first process is the
 * oldest: a node starts when it does, of which prom-client says nothing.
 */
function mergedBy({ name, aggregator }: { name: string; aggregator: string }): string {
  if (name === 'process_start_time_seconds') return 'min'
  return name.startsWith('nodejs_eventloop_lag') ? 'max' : aggregator
}

/**
 * Keeps counts from going back: of a process that died or does not answer, what was last read still counts, since Prometheus takes a
 * smaller sum for a restart and counts all of it once more. Gauges of such a process do not count.
 */
export type Members = {
  /** Stores what was read of a process. */
  read(id: number, metrics: readonly ReadMetric[]): void
  /** The process will not be read again. */
  gone(id: number): void
  /** One entry for each process that was ever read. `answered`: those whose gauges are current. */
  all(answered: ReadonlySet<number>): ReadonlyArray<readonly ReadMetric[]>
}

export function openMembers(): Members {
  const alive = new Map<number, readonly ReadMetric[]>()
  let ended: readonly ReadMetric[] = []
  return {
    read: (id, metrics) => void alive.set(id, metrics),
    gone(id) {
      const last = alive.get(id)
      alive.delete(id)
      if (last) ended = addCounts(ended, countsOf(last))
    },
    all: (answered) => [...[...alive].map(([id, metrics]) => (answered.has(id) ? metrics : countsOf(metrics))), ended],
  }
}

function countsOf(metrics: readonly ReadMetric[]): ReadMetric[] {
  return metrics.filter(({ type }) => type !== 'gauge')
}

/** One entry for all processes that have ended, however many there were. */
function addCounts(a: readonly ReadMetric[], b: readonly ReadMetric[]): ReadMetric[] {
  const keyOf = ({ metricName, labels }: ReadMetric['values'][number]) =>
    JSON.stringify([metricName, Object.entries(labels).sort()])
  const sums = new Map(a.map((metric) => [metric.name, { ...metric, values: [...metric.values] }]))
  for (const metric of b) {
    const sum = sums.get(metric.name)
    if (!sum) {
      sums.set(metric.name, { ...metric, values: [...metric.values] })
      continue
    }
    const places = new Map(sum.values.map((sample, i) => [keyOf(sample), i]))
    for (const sample of metric.values) {
      const place = places.get(keyOf(sample))
      if (place === undefined) sum.values.push(sample)
      else sum.values[place] = { ...sample, value: sum.values[place]!.value + sample.value }
    }
  }
  return [...sums.values()]
}
