import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Clock } from './clock.ts'
import { declareMetrics, type Metrics } from './metrics/metrics.ts'

export const sweepMetrics = declareMetrics((metrics) => ({
  failures: metrics.counter({
    name: 'kinora_sweep_failures_total',
    help: 'Periodic duties that ended with an error. Each is tried again at its next turn.',
    labels: ['sweep'],
  }),
  last_end: metrics.gauge({
    name: 'kinora_sweep_last_end_timestamp_seconds',
    help: 'When a periodic duty last worked, at the earliest when the process started, and when it last failed, in Unix seconds.',
    labels: ['sweep', 'outcome'],
    merge: 'max',
  }),
  interval: metrics.gauge({
    name: 'kinora_sweep_interval_seconds',
    help: 'How often a periodic duty is due.',
    labels: ['sweep'],
    merge: 'max',
  }),
}))

/**
 * A periodic duty. `run` may be cut short by a crash at any point and is run again: it must not mind. `each_process`: what it looks after
 * is this process's own, so every process runs it.
 */
export type Sweep = { name: string; every_seconds: number; each_process?: true; run(): Promise<void> }

/** The same sweep, whose ends are reported. */
export function measuredSweep({ metrics, clock }: { metrics: Metrics; clock: Clock }, sweep: Sweep): Sweep {
  const { name, every_seconds } = sweep
  const { failures, last_end, interval } = sweepMetrics(metrics)
  const nowSeconds = () => clock.now().getTime() / 1000
  interval.of(name).set(every_seconds)
  failures.of(name)
  last_end.of(name, 'worked').set(nowSeconds())
  last_end.of(name, 'failed').set(0)
  return {
    ...sweep,
    async run() {
      try {
        await sweep.run()
        last_end.of(name, 'worked').set(nowSeconds())
      } catch (error) {
        last_end.of(name, 'failed').set(nowSeconds())
        throw error
      }
    },
  }
}

/**
 * Longest pause before a sweep is looked at again that another process is running, for that process may have died, or of which the database
 * could not be asked whether it is due.
 */
const LOOK_SECONDS_MAX = 5

/**
 * Runs each sweep when `every_seconds` have passed, by the database's clock, since it last ended on any of the processes on this database.
 * An error of the sweep goes to `on_error`, and the sweep is due as if it had ended; so does the first of several in a row with which it could
 * not begin, and it is tried again within five seconds. `stop` waits for the sweeps that are running.
 */
export function startSweeps(
  sweeps: Sweep[],
  {
    pool,
    on_error,
    pause = pauseUnlessStopped,
  }: {
    pool: pg.Pool
    on_error: (error: unknown, sweep: string) => void
    pause?: (seconds: number, signal: AbortSignal) => Promise<void>
  },
): { stop(): Promise<void> } {
  const stopped = new AbortController()
  const loops = sweeps.map((sweep) => repeat(sweep, stopped.signal))
  return {
    async stop() {
      stopped.abort()
      await Promise.all(loops)
    },
  }

  async function repeat(sweep: Sweep, signal: AbortSignal): Promise<void> {
    let stuck = false
    while (!signal.aborted) {
      const { seconds, error, began } = await turn(sweep)
      if (error !== undefined && (began || !stuck)) on_error(error, sweep.name)
      stuck = error !== undefined && !began
      await pause(seconds, signal)
    }
  }

  async function turn(sweep: Sweep): Promise<{ seconds: number; error?: unknown; began: boolean }> {
    let began = false
    const run = () => {
      began = true
      return sweep.run()
    }
    try {
      if (!sweep.each_process) return { seconds: await runWhenDue(pool, { ...sweep, run }), began }
      await run()
      return { seconds: sweep.every_seconds, began }
    } catch (error) {
      return { seconds: began ? sweep.every_seconds : Math.min(sweep.every_seconds, LOOK_SECONDS_MAX), error, began }
    }
  }
}

async function pauseUnlessStopped(seconds: number, signal: AbortSignal): Promise<void> {
  await sleep(seconds * 1000, undefined, { signal, ref: false }).catch(() => {})
}

/**
 * Runs the sweep if it is due and no other process is running it. Returns the seconds after which to look again. Throws what the sweep
 * throws, and the errors of the database.
 */
export async function runWhenDue(pool: pg.Pool, sweep: Sweep): Promise<number> {
  const client = await pool.connect()
  let broken: Error | undefined
  // What the sweep throws says nothing against the connection, on which other sweeps hold their locks.
  let failed: { error: unknown } | undefined
  try {
    const { left, ours } = await lockWhenDue(client, sweep)
    if (left > 0) return Math.min(left, sweep.every_seconds)
    if (!ours) return Math.min(sweep.every_seconds, LOOK_SECONDS_MAX)
    await sweep.run().catch((error: unknown) => {
      failed = { error }
    })
    await noteEnd(client, sweep)
  } catch (error) {
    broken = error as Error
    throw error
  } finally {
    // Closing the connection gives the lock back whatever happened to it.
    client.release(broken)
  }
  if (failed) throw failed.error
  return sweep.every_seconds
}

/**
 * Seconds until the sweep is due, more than its interval when the database's clock was set back, and whether this connection has its lock now.
 * The lock belongs to the connection, so it ends with the process, and the next one to look takes the sweep over.
 */
async function lockWhenDue(client: pg.PoolClient, { name, every_seconds }: Sweep) {
  const { rows } = await client.query<{ left: number; ours: boolean | null }>(
    `with looked as materialized (
       select coalesce((select $2 - extract(epoch from clock_timestamp() - ended_at) from sweeps where name = $1), 0)::float8 as left)
     select "left", case when "left" <= 0 then pg_try_advisory_lock(hashtextextended($1, 7301950144)) end as ours from looked`,
    [name, every_seconds],
  )
  return rows[0]!
}

/**
 * And gives the lock back, before the end is written: a process that looks at that moment may run the sweep once more. Need not survive a power cut: no
 * flush is waited for.
 */
async function noteEnd(client: pg.PoolClient, { name }: Sweep): Promise<void> {
  await client.query(
    `with noted as (select set_config('synchronous_commit', 'off', true))
     insert into sweeps (name, ended_at) select $1, clock_timestamp() from noted
     on conflict (name) do update set ended_at = excluded.ended_at
     returning pg_advisory_unlock(hashtextextended($1, 7301950144))`,
    [name],
  )
}
