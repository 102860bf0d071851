/** What a metric is declared with. Names follow Prometheus: base units, `_total` for counters, `_seconds` for times. */
export type Declared<Label extends string> = {
  name: string
  help: string
  /** Their values come from the code and the configuration, never from clients, so that the number of series is bounded. */
  labels?: readonly Label[]
}

export type Counter = { add(amount: number): void }
export type Gauge = { set(value: number): void }
export type Histogram = { observe(value: number): void }

/** One metric. `of` finds or makes the cell of the values given, in the order of `labels`; hot paths keep the cell. */
export type MetricFamily<Cell, Label extends string> = {
  of(...values: { [Name in Label]: string }[Label][]): Cell
  /** Forgets every cell: what is not known any more is not reported. */
  clear(): void
  /** Forgets one cell. */
  drop(...values: { [Name in Label]: string }[Label][]): void
}

/** How the values of several processes of one service become one. */
export type Merge = 'sum' | 'max' | 'min'

/** One metric as it was read, in the form prom-client aggregates. */
export type Sample = { value: number; labels: Record<string, string | number>; metricName?: string }
export type ReadMetric = {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  aggregator: string
  values: Sample[]
}

/** The metrics of one process. Declaring a name twice throws. */
export type Metrics = {
  counter<Label extends string = never>(declared: Declared<Label>): MetricFamily<Counter, Label>
  gauge<Label extends string = never>(declared: Declared<Label> & { merge: Merge }): MetricFamily<Gauge, Label>
  /** `buckets`: upper bounds, ascending; the one above the last is added. */
  histogram<Label extends string = never>(
    declared: Declared<Label> & { buckets: readonly number[] },
  ): MetricFamily<Histogram, Label>
  /** Runs before each reading, to set gauges. It bounds its own time and handles its own errors. */
  beforeRead(refresh: () => Promise<void> | void): void
  read(): Promise<ReadMetric[]>
}

/** Upper bounds for requests and calls: 5 ms to 2 minutes. */
export const CALL_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120] as const
/** Upper bounds for what takes up to an hour. */
export const STAGE_BUCKETS = [0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 2700, 3600] as const

/**
 * Metrics that cost a few additions where they are counted: a cell is a number of its own, and labels are looked at when it is made and when
 * it is read. Why not prom-client's own counters: docs/decisions/0040-metrics-and-traces.md.
 */
export function openMetrics(): Metrics {
  const families = new Map<string, () => ReadMetric>()
  const refreshes: Array<() => Promise<void> | void> = []

  function declare<Cell, Label extends string>(
    { name, help, labels = [] }: Declared<Label>,
    kind: { type: ReadMetric['type']; aggregator: Merge; cell(): Cell; samples(cell: Cell): Sample[] },
  ): MetricFamily<Cell, Label> {
    if (families.has(name)) throw new Error(`the metric ${name} is declared twice`)
    const cells = new Map<string, { labels: Record<string, string>; cell: Cell }>()
    families.set(name, () => {
      const values = [...cells.values()].flatMap((each) =>
        kind.samples(each.cell).map((sample) => ({ ...sample, labels: { ...sample.labels, ...each.labels } })),
      )
      return { name, help, type: kind.type, aggregator: kind.aggregator, values }
    })
    const of = (...values: string[]): Cell => {
      const key = values.join('\0')
      const known = cells.get(key)
      if (known) return known.cell
      if (values.length !== labels.length) throw new Error(`${name} has the labels ${labels.join(', ')}`)
      const made = { labels: Object.fromEntries(labels.map((label, i) => [label, values[i]!])), cell: kind.cell() }
      cells.set(key, made)
      return made.cell
    }
    if (labels.length === 0 && kind.type !== 'gauge') of()
    return { of, clear: () => cells.clear(), drop: (...values) => void cells.delete(values.join('\0')) }
  }

  return {
    counter: (declared) =>
      declare(declared, { type: 'counter', aggregator: 'sum', cell: counterCell, samples: single }),
    gauge: (declared) =>
      declare(declared, { type: 'gauge', aggregator: declared.merge, cell: gaugeCell, samples: single }),
    histogram: (declared) =>
      declare(declared, {
        type: 'histogram',
        aggregator: 'sum',
        cell: () => histogramCell(declared.buckets),
        samples: (cell) => bucketSamples(declared.name, declared.buckets, cell),
      }),
    beforeRead(refresh) {
      refreshes.push(refresh)
    },
    async read() {
      await Promise.all(refreshes.map((refresh) => refresh()))
      return [...families.values()].map((family) => family())
    },
  }
}

/**
 * The metrics a feature declares, made once for each `Metrics`: the function returned finds them again. `assembly/metrics.ts` lists every feature's, so
 * that all are reported from the start.
 */
export function declareMetrics<Declares>(declare: (metrics: Metrics) => Declares): (metrics: Metrics) => Declares {
  const made = new WeakMap<Metrics, Declares>()
  return (metrics) => {
    let found = made.get(metrics)
    if (found === undefined) {
      found = declare(metrics)
      made.set(metrics, found)
    }
    return found
  }
}

type NumberCell = Counter & Gauge & { value: number }
type BucketCell = Histogram & { counts: Float64Array; sum: number }

function counterCell(): NumberCell {
  return numberCell()
}

function gaugeCell(): NumberCell {
  return numberCell()
}

function numberCell(): NumberCell {
  return {
    value: 0,
    add(amount) {
      this.value += amount
    },
    set(value) {
      this.value = value
    },
  }
}

function single({ value }: NumberCell): Sample[] {
  return [{ value, labels: {} }]
}

/** `counts` has one more place than there are bounds, for what is above the last. */
function histogramCell(bounds: readonly number[]): BucketCell {
  const counts = new Float64Array(bounds.length + 1)
  return {
    counts,
    sum: 0,
    observe(value) {
      let i = 0
      while (i < bounds.length && value > bounds[i]!) i++
      counts[i]! += 1
      this.sum += value
    },
  }
}

function bucketSamples(name: string, bounds: readonly number[], { counts, sum }: BucketCell): Sample[] {
  let count = 0
  const buckets = [...counts].map((each, i): Sample => {
    count += each
    return { metricName: `${name}_bucket`, value: count, labels: { le: bounds[i] ?? '+Inf' } }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, value: sum, labels: {} },
    { metricName: `${name}_count`, value: count, labels: {} },
  ]
}
