import { measuredCosts, sourcesOfCosts } from './costs.ts'
import { type Demand, SECONDS_OF_DAY, scaled, THE_DAY } from './demand.ts'
import { type Fit, fewestMachines, poolsOf } from './simulate.ts'

/**
 * List prices in US dollars, to be replaced by your own. Of us-east-1, on demand.
 * Source: https://aws.amazon.com/ec2/pricing/on-demand/ and https://aws.amazon.com/s3/pricing/
 */
const PRICES = {
  /** An hour of a machine with 16 cores (c7i.4xlarge). */
  machine_hour: 0.714,
  /** An hour of a core of the database's machine, with memory to match (r7i). */
  database_core_hour: 0.1323,
  bucket_gb_month: 0.023,
  bucket_put: 0.000005,
  bucket_get: 0.0000004,
  /** Of what leaves for the internet, beyond the first 150 TB. */
  egress_gb: 0.05,
  /** Of the database's disks, gp3. */
  disk_gb_month: 0.08,
}
const HOURS_OF_MONTH = 730
const DAYS_OF_MONTH = 30.4
/** Finished jobs and their clips. Source: docs/contract.md, 16. */
const RETENTION_DAYS = 30
/** A database with a standby. */
const DATABASES = 2
const CORES = 16
const SEED = 'the paper'

type Size = {
  demand: Demand
  fits: Fit[]
  log_mb_per_second: number
  kept_gb_per_day: number
  clips_tb: number
  dollars: { machines: number; database: number; bucket: number; egress: number }
}

/** What the day needs at one size. */
export function sizeOf(demand: Demand): Size {
  const costs = measuredCosts()
  const fits = poolsOf(costs, demand).map((pool) =>
    fewestMachines(pool, { cores: CORES, peak: demand.peak, seed: SEED }),
  )
  const { chats, jobs, clip_mb, reads, peak } = demand
  const log_per_day = chats * costs.chat_log_bytes + jobs * costs.job_log_bytes
  const kept_gb_per_day = (chats * costs.chat_kept_bytes + jobs * costs.job_kept_bytes) / 1e9
  const clips_gb = (jobs * clip_mb * RETENTION_DAYS) / 1000
  const [api, worker, database] = fits as [Fit, Fit, Fit]
  const p = PRICES
  return {
    demand,
    fits,
    log_mb_per_second: (log_per_day / SECONDS_OF_DAY / 1e6) * peak,
    kept_gb_per_day,
    clips_tb: clips_gb / 1000,
    dollars: {
      machines: (api.machines + worker.machines) * p.machine_hour * HOURS_OF_MONTH,
      database:
        DATABASES *
        (coresOf(database, peak) * p.database_core_hour * HOURS_OF_MONTH +
          kept_gb_per_day * DAYS_OF_MONTH * p.disk_gb_month),
      bucket: clips_gb * p.bucket_gb_month + jobs * DAYS_OF_MONTH * (p.bucket_put + reads * p.bucket_get),
      egress: ((jobs * clip_mb * reads) / 1000) * DAYS_OF_MONTH * p.egress_gb,
    },
  }
}

/** The cores that PostgreSQL needs at the high of the day, twice over. */
function coresOf({ mean_cores }: Fit, peak: number): number {
  return Math.max(4, Math.ceil(mean_cores * peak * 2))
}

const SIZES = [0.001, 0.01, 0.1, 1] as const

/** The tables of `docs/scale.md`, as Markdown. */
export function tables(): string {
  const sizes = SIZES.map((by) => sizeOf(scaled(THE_DAY, by)))
  const row = (name: string, cell: (size: Size) => string) => `| ${name} | ${sizes.map(cell).join(' | ')} |`
  const machines = (nth: number) => (size: Size) => String(size.fits[nth]!.machines)
  const total = ({ dollars }: Size) => Object.values(dollars).reduce((sum, each) => sum + each, 0)
  return [
    [
      '| | ',
      sizes.map(({ demand }) => `${amount(demand.chats)} chats, ${amount(demand.jobs)} jobs`).join(' | '),
      ' |',
    ].join(''),
    `|---|${sizes.map(() => '---').join('|')}|`,
    row(`Machines for HTTP (${CORES} cores)`, machines(0)),
    row('Cores busy there, mean', (size) => size.fits[0]!.mean_cores.toFixed(1)),
    row(`Machines for jobs (${CORES} cores)`, machines(1)),
    row('Longest wait for a core without one machine, ms', (size) =>
      (size.fits[0]!.waited_without_one * 1000).toFixed(0),
    ),
    row('Cores of PostgreSQL busy at the high', ({ fits, demand }) => (fits[2]!.mean_cores * demand.peak).toFixed(2)),
    row('Its log at the high, MB/s', (size) => size.log_mb_per_second.toFixed(2)),
    row('Its tables grow by, GB a day', (size) => size.kept_gb_per_day.toFixed(1)),
    row('Clips in the bucket, TB', (size) => size.clips_tb.toFixed(1)),
    row('Machines, $ a month', (size) => dollars(size.dollars.machines)),
    row('Two databases, with what a month adds to their disks, $ a month', (size) => dollars(size.dollars.database)),
    row('Bucket, $ a month', (size) => dollars(size.dollars.bucket)),
    row('Clips to the internet, $ a month', (size) => dollars(size.dollars.egress)),
    row('In all, $ a month', (size) => dollars(total(size))),
    row('In all, $ for a million chats and ten thousand jobs', (size) =>
      (total(size) / DAYS_OF_MONTH / (size.demand.chats / 1e6)).toFixed(2),
    ),
    '',
    '| Cost | Figure | Measured in |',
    '|---|---|---|',
    ...sourcesOfCosts().map(
      ({ cost, figure, unit, run, row: name }) => `| \`${cost}\` | ${round(figure)} ${unit} | \`${run}\`, ${name} |`,
    ),
  ].join('\n')
}

function amount(value: number): string {
  return value >= 1e9
    ? `${value / 1e9} G`
    : value >= 1e6
      ? `${value / 1e6} M`
      : value >= 1e3
        ? `${value / 1e3} k`
        : String(value)
}

function dollars(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

function round(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

if (import.meta.main) console.log(tables())
