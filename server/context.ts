import type { Kysely } from 'kysely'
import type { Config } from './config/config.ts'
import type { Engines } from './engines/registry.ts'
import type { Switches } from './operations/switches.ts'
import type { Blobs } from './platform/blobs/blobs.ts'
import type { Clock } from './platform/clock.ts'
import type { Changes } from './platform/db/changes.ts'
import type { Database } from './platform/db/db.ts'
import type { Groups } from './platform/db/groups.ts'
import type { ByteBudget } from './platform/http/body/byte-budget.ts'
import type { Log } from './platform/log.ts'
import type { Metrics } from './platform/metrics/metrics.ts'
import type { Tracing } from './platform/tracing/tracing.ts'

/** The secret of the service, and those before it that are still accepted. */
export type Secrets = readonly [current: string, ...previous: string[]]

/** What routes, steps and sweeps are given. Plain functions take the member they need instead. */
export type Context = {
  config: Config
  clock: Clock
  log: Log
  db: Kysely<Database>
  blobs: Blobs
  engines: Engines
  changes: Changes
  groups: Groups
  /** What operators have paused. */
  switches: Switches
  /** What large requests hold in memory. */
  budget: ByteBudget
  metrics: Metrics
  /** Null where there are no traces. */
  tracing: Tracing | null
  /** At least 32 bytes: whatever is signed, sealed or digested from now on is so with this one. */
  secret: string
  /** Whatever comes back is checked against each. */
  secrets: Secrets
  /** How clients and engines reach us; complete once the service listens. */
  site: { public_url: string; engine_url: string }
  /** Directory for work in progress (spooled media, renders); emptied at start. */
  work_dir: string
}

/** What a reload of the configuration replaces, all of it at once. */
export type Settings = Pick<Context, 'config' | 'engines' | 'secret' | 'secrets' | 'site'>

/** The context of a process. Its settings are the newest at each use: what lives as long as the process keeps this and no member of it. */
export type LiveContext = Context & {
  /** The context as it is now, for one request, turn or job: a reload changes nothing in it, and its engines stay open until `end`. */
  use(): { ctx: Context; end(): void }
}
