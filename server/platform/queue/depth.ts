import { type RawBuilder, sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Db } from '../db/db.ts'
import { declareMetrics, type Metrics } from '../metrics/metrics.ts'
import { refreshGauges } from '../metrics/refresh.ts'
import type { QueueTable } from './claims.ts'

export const queueMetrics = declareMetrics((metrics) => ({
  waiting: metrics.gauge({
    name: 'kinora_queue_waiting',
    help: `Rows that no worker holds, due or not. Counts stop at ${COUNT_MAX} rows of a queue.`,
    labels: ['queue', 'state'],
    merge: 'max',
  }),
  claimed: metrics.gauge({
    name: 'kinora_queue_claimed',
    help: 'Rows under the lease of a worker, at work or waiting for an engine.',
    labels: ['queue', 'state'],
    merge: 'max',
  }),
  oldest: metrics.gauge({
    name: 'kinora_queue_oldest_due_seconds',
    help: 'For how long the oldest row has been due that no worker holds; 0 when none is due.',
    labels: ['queue', 'state'],
    merge: 'max',
  }),
  age: metrics.gauge({
    name: 'kinora_queue_oldest_seconds',
    help: 'For how long the oldest row that ends at a time limit has been in its state, claimed or not.',
    labels: ['queue', 'state', 'model'],
    merge: 'max',
  }),
  limit: metrics.gauge({
    name: 'kinora_queue_limit_seconds',
    help: 'How long a row may be in its state; then it fails.',
    labels: ['queue', 'state', 'model'],
    merge: 'max',
  }),
}))

/**
 * A queue as it is reported. `state` is an expression over its table, `states` every value it has while a row is open. `timed`: since when a
 * row has been in its state, null where it may stay, and how long it may.
 */
export type MeasuredQueue = QueueTable & {
  queue: string
  state: RawBuilder<unknown>
  states: readonly string[]
  /** When a row was made, as an expression over the table. */
  created: RawBuilder<unknown>
  timed?: { since: RawBuilder<unknown>; limitSeconds(state: string, model: string): number | undefined }
}

/** More rows than this are not counted, so that a reading stays cheap however long the queue is. */
const COUNT_MAX = 10_000

/** Reports the depth and age of queues, read at most every ten seconds. For processes that work on them. */
export function measureQueues(
  { db, clock, metrics }: { db: Db; clock: Clock; metrics: Metrics },
  queues: readonly MeasuredQueue[],
): void {
  const { waiting, claimed, oldest, age, limit } = queueMetrics(metrics)
  for (const measured of queues) {
    const { queue, states, timed } = measured
    let timers: Timer[] = []
    const dropTimers = () => {
      for (const timer of timers) for (const family of [age, limit]) family.drop(...timer)
      timers = []
    }
    refreshGauges(metrics, {
      read: () => readDepth(db, measured),
      set(rows) {
        const now = clock.now().getTime()
        const secondsSince = (time: Date | null) => (time ? Math.max(0, now - time.getTime()) / 1000 : 0)
        for (const state of states) {
          const found = rows.filter((row) => row.state === state)
          waiting.of(queue, state).set(sum(found.map((row) => row.waiting)))
          claimed.of(queue, state).set(sum(found.map((row) => row.claimed)))
          oldest.of(queue, state).set(Math.max(0, ...found.map(({ due }) => secondsSince(due))))
        }
        dropTimers()
        for (const { state, model, since } of rows) {
          const limit_seconds = since && timed?.limitSeconds(state, model)
          if (!limit_seconds) continue
          const timer: Timer = [queue, state, model]
          timers.push(timer)
          age.of(...timer).set(secondsSince(since))
          limit.of(...timer).set(limit_seconds)
        }
      },
      unknown() {
        dropTimers()
        for (const family of [waiting, claimed, oldest]) for (const state of states) family.drop(queue, state)
      },
    })
  }
}

type Timer = [queue: string, state: string, model: string]

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

type DepthRow = {
  state: string
  model: string
  waiting: number
  claimed: number
  due: Date | null
  since: Date | null
}

/**
 * Reads the longest due rows from the index of claims, and the claimed ones from the index of leases: at most COUNT_MAX of each. A row whose
 * lease has ended counts as neither: its consumer died.
 */
export async function readDepth(
  db: Db,
  { table: name, due: column, open, state, timed }: MeasuredQueue,
): Promise<DepthRow[]> {
  const table = sql.table(name)
  const due = sql.ref(column)
  const [model, since] = timed ? [sql`model`, timed.since] : [sql`''`, sql`null::timestamptz`]
  const result = await sql<DepthRow>`
    select state, model, count(due)::int as waiting, count(*) filter (where lives)::int as claimed, min(due) as due, min(since) as since from (
      (select ${state} as state, ${model} as model, ${since} as since, ${due} as due, false as lives
       from ${table} where ${open} and claim_id is null order by ${due} limit ${COUNT_MAX})
      union all
      (select ${state}, ${model}, ${since}, null, claimed_until > now() from (
         select * from ${table} where claimed_until is not null order by claimed_until desc limit ${COUNT_MAX}) as held
       where ${open})) as rows
    group by state, model`.execute(db)
  return result.rows
}

/** Rows of a queue in one state: all, those that are due and wait for a consumer, those that one has; the oldest row. */
export type QueueState = {
  state: string
  rows: number
  due: number
  claimed: number
  oldest_id: string | null
  oldest_at: Date | null
}

/** Counts every row, for a person who asks: too much for a reading that is repeated. States without a row are there too. */
export async function readQueue(db: Db, measured: MeasuredQueue, now: Date): Promise<QueueState[]> {
  const { table, due, open, state, states, created } = measured
  const result = await sql<QueueState>`
    select state, count(*)::int as rows, count(*) filter (where due <= ${now} and claim_id is null)::int as due,
      count(claim_id)::int as claimed, min(created) as oldest_at, (array_agg(id order by created, id))[1] as oldest_id
    from (select id, claim_id, ${sql.ref(due)} as due, ${state} as state, ${created} as created
      from ${sql.table(table)} where ${open}) as rows
    group by state`.execute(db)
  const none = { rows: 0, due: 0, claimed: 0, oldest_id: null, oldest_at: null }
  return states.map((each) => result.rows.find((row) => row.state === each) ?? { state: each, ...none })
}
