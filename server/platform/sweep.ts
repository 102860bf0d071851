import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { declareMetrics } from './metrics/metrics.ts'

export const sweepMetrics = declareMetrics((metrics) => ({
  failures: metrics.counter({
    name: 'kinora_sweep_failures_total',
    help: 'Periodic duties that ended with an error. Each is tried again at its next turn.',
    labels: ['sweep'],
  }),
}))

/**
 * A periodic duty. `run` may be cut short by a crash at any point and is run again: it must not mind. `each_process`: what it looks after
 * is this process's own, so every process runs it.
 */
export type Sweep = { name: string; every_seconds: number; each_process?: true; run(): Promise<void> }

/** Longest pause before a sweep that another process is running, or failed to run, is looked at again: that process may have died. */
const LOOK_SECONDS_MAX = 5

/**
 * Runs each sweep when `every_seconds` have passed, by the database's clock, since it last ended on any of the processes on this database.
 * An error goes to `on_error`, and the sweep is due as if it had ended. `stop` waits for the sweeps that are running.
 */
export function startSweeps(
  sweeps: Sweep[],
  { pool, on_error }: { pool: pg.Pool; on_error: (error: unknown, sweep: string) => void },
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
    while (!signal.aborted) {
      const seconds = await turn(sweep).catch((error: unknown) => {
        on_error(error, sweep.name)
        return sweep.every_seconds
      })
      await sleep(seconds * 1000, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  async function turn(sweep: Sweep): Promise<number> {
    if (!sweep.each_process) return runWhenDue(pool, sweep)
    await sweep.run()
    return sweep.every_seconds
  }
}

/**
 * Runs the sweep if it is due and no other process is running it. Returns the seconds after which to look again. Throws what the sweep
 * throws, and the errors of the database.
 */
export async function runWhenDue(pool: pg.Pool, sweep: Sweep): Promise<number> {
  const left = await secondsLeft(pool, sweep)
  if (left > 0) return left
  const client = await pool.connect()
  let broken: Error | undefined
  // What the sweep throws says nothing against the connection, on which other sweeps hold their locks.
  let failed: { error: unknown } | undefined
  try {
    // The lock belongs to the connection, so it ends with the process, and the next one to look takes the sweep over.
    const { rows } = await client.query<{ ours: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 7301950144)) as ours',
      [sweep.name],
    )
    if (!rows[0]!.ours) return Math.min(sweep.every_seconds, LOOK_SECONDS_MAX)
    try {
      // Another process may have ended it between the look and the lock.
      if ((await secondsLeft(client, sweep)) <= 0) {
        await sweep.run().catch((error: unknown) => {
          failed = { error }
        })
        await noteEnd(client, sweep)
      }
    } finally {
      await client.query('select pg_advisory_unlock(hashtextextended($1, 7301950144))', [sweep.name])
    }
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

type Queries = Pick<pg.Pool | pg.PoolClient, 'query'>

/** Until the sweep is due; never more than its interval, also when the database's clock was set back. */
async function secondsLeft(queries: Queries, { name, every_seconds }: Sweep): Promise<number> {
  const { rows } = await (queries as pg.Pool).query<{ left: number }>(
    'select $2 - extract(epoch from clock_timestamp() - ended_at)::float8 as left from sweeps where name = $1',
    [name, every_seconds],
  )
  return Math.min(rows[0]?.left ?? 0, every_seconds)
}

/** Need not survive a power cut: no flush is waited for. */
async function noteEnd(queries: Queries, { name }: Sweep): Promise<void> {
  await (queries as pg.Pool).query(
    `with noted as (select set_config('synchronous_commit', 'off', true))
     insert into sweeps (name, ended_at) select $1, clock_timestamp() from noted
     on conflict (name) do update set ended_at = excluded.ended_at`,
    [name],
  )
}
