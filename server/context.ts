import type { Kysely } from 'kysely'
import type { Engines } from './engines/registry.ts'
import type { Blobs } from './platform/blobs.ts'
import type { Changes } from './platform/changes.ts'
import type { Clock } from './platform/clock.ts'
import type { Config } from './platform/config.ts'
import type { Database } from './platform/db.ts'
import type { Wakes } from './platform/jobs.ts'
import type { Log } from './platform/log.ts'

/** What endpoints, steps and sweeps are given. Plain functions take the member they need instead. */
export type Context = {
  config: Config
  clock: Clock
  log: Log
  db: Kysely<Database>
  blobs: Blobs
  engines: Engines
  wakes: Wakes
  changes: Changes
  /** At least 32 bytes: signs URLs and console sessions. */
  secret: string
  /** How clients and engines reach us; complete once the service listens. */
  site: { public_url: string; engine_url: string }
  /** Directory for work in progress (spooled media, renders); emptied at start. */
  work_dir: string
}
