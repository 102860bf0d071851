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

/** A periodic duty. `run` may be cut short by a crash at any point and is run again: it must not mind. */
export type Sweep = { name: string; every_seconds: number; run(): Promise<void> }

/**
 * Runs each sweep now and then `every_seconds` after its last end. Of many processes on one database one at a time runs a
 * sweep; the others skip that turn. An error goes to `on_error` and the sweep's next turn comes as usual.
 * `stop` waits for the sweeps that are running.
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
      await runAlone(pool, sweep).catch((error: unknown) => on_error(error, sweep.name))
      await sleep(sweep.every_seconds * 1000, undefined, { signal, ref: false }).catch(() => {})
    }
  }
}

/** Runs the sweep unless another process is running it. Returns whether it ran. */
export async function runAlone(pool: pg.Pool, sweep: Sweep): Promise<boolean> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    const { rows } = await client.query<{ ours: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 7301950144)) as ours',
      [sweep.name],
    )
    if (!rows[0]!.ours) return false
    try {
      await sweep.run()
    } finally {
      await client.query('select pg_advisory_unlock(hashtextextended($1, 7301950144))', [sweep.name])
    }
    return true
  } catch (error) {
    broken = error as Error
    throw error
  } finally {
    // Closing the connection gives the lock back whatever happened to it.
    client.release(broken)
  }
}
