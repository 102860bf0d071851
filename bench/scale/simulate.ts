import { type SeededRandom, seededRandom } from '../../server/engines/seeded-random.ts'
import type { Costs } from './costs.ts'
import { type Demand, SECONDS_OF_DAY, waveAt } from './demand.ts'

/** Machines of one kind that share work, each second of a day. */
export type Pool = {
  name: string
  /** Core-seconds of work that arrive in a second of mean demand, and how unevenly: the mean of one piece of it. */
  mean_cores: number
  piece_seconds: number
}

export type Fit = {
  pool: string
  mean_cores: number
  /** Machines of `cores` each. */
  machines: number
  cores: number
  /** Seconds that work waited, at most, and all but one second in a thousand; with every machine, and in the hour without one of them. */
  waited_max: number
  waited_p999: number
  waited_without_one: number
}

/** Longest wait that counts as served: the budget of the first byte has room for it. */
const WAIT_SECONDS_MAX = 0.1

/** What HTTP processes, workers and PostgreSQL have to do in a second of mean demand. */
export function poolsOf(costs: Costs, demand: Demand): Pool[] {
  const each = (count: number, us: number) => ((count / SECONDS_OF_DAY) * us) / 1_000_000
  const { chats, streamed, events, jobs, polls, clip_mb, reads } = demand
  const streams = chats * streamed
  return [
    {
      name: 'api',
      mean_cores:
        each(chats, costs.chat_http) +
        each(streams * events, costs.stream_event_http) +
        each(jobs * polls, costs.poll_http) +
        each((jobs * clip_mb * reads) / 1000, costs.content_gb),
      piece_seconds: (costs.chat_http + streamed * events * costs.stream_event_http) / 1_000_000,
    },
    {
      name: 'worker',
      mean_cores: each(jobs, costs.job - costs.job_postgres),
      piece_seconds: (costs.job - costs.job_postgres) / 1_000_000,
    },
    {
      name: 'PostgreSQL',
      mean_cores: each(chats, costs.chat_postgres) + each(jobs, costs.job_postgres),
      piece_seconds: costs.chat_postgres / 1_000_000,
    },
  ]
}

/**
 * The fewest machines of `cores` that serve the day: no work waits longer than `WAIT_SECONDS_MAX`, also while one machine is missing for the
 * busiest hour. Work arrives at random around the wave of the day (the same for the same seed); what a second cannot do waits.
 */
export function fewestMachines(pool: Pool, { cores, peak, seed }: { cores: number; peak: number; seed: string }): Fit {
  for (let machines = Math.max(2, Math.ceil(pool.mean_cores / cores)); ; machines++) {
    const whole = runDay(pool, { capacity: machines * cores, missing: 0, peak, seed })
    const reduced = runDay(pool, { capacity: machines * cores, missing: cores, peak, seed })
    if (reduced.max > WAIT_SECONDS_MAX) continue
    return {
      pool: pool.name,
      mean_cores: pool.mean_cores,
      machines,
      cores,
      waited_max: whole.max,
      waited_p999: whole.p999,
      waited_without_one: reduced.max,
    }
  }
}

type Day = { capacity: number; missing: number; peak: number; seed: string }

/** Seconds of the hour around the high of the wave. */
const BUSIEST = { from: SECONDS_OF_DAY / 4 - 1800, to: SECONDS_OF_DAY / 4 + 1800 }

function runDay(
  { mean_cores, piece_seconds }: Pool,
  { capacity, missing, peak, seed }: Day,
): { max: number; p999: number } {
  const random = seededRandom(seed)
  const waits = new Float64Array(SECONDS_OF_DAY)
  let backlog = 0
  for (let second = 0; second < SECONDS_OF_DAY; second++) {
    const mean = mean_cores * waveAt(second, peak)
    // Of many independent pieces: normal around the mean, with the variance of their number and of exponential sizes.
    const arriving = Math.max(0, mean + Math.sqrt(2 * mean * piece_seconds) * normal(random))
    const able = second >= BUSIEST.from && second < BUSIEST.to ? capacity - missing : capacity
    backlog = Math.max(0, backlog + arriving - able)
    waits[second] = backlog / able
  }
  waits.sort()
  return { max: waits.at(-1)!, p999: waits[Math.floor(waits.length * 0.999)]! }
}

/** Box and Muller's method. Source: https://doi.org/10.1214/aoms/1177706645 */
function normal(random: SeededRandom): number {
  return Math.sqrt(-2 * Math.log(1 - random.between(0, 1))) * Math.cos(2 * Math.PI * random.between(0, 1))
}
