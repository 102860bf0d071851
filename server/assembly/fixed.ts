import type pg from 'pg'
import type { Config } from '../config/config.ts'
import type { Context, Settings } from '../context.ts'
import { engineCallsOf } from '../engines/measured.ts'
import { keepDuringBackup } from '../files/removal.ts'
import { IDENTITY_TOPIC } from '../identity/open.ts'
import { openSightings, type Sightings } from '../operations/sightings.ts'
import { openSwitches } from '../operations/switches.ts'
import { type Blobs, BlobsAway } from '../platform/blobs/blobs.ts'
import type { Clock } from '../platform/clock.ts'
import { openChanges } from '../platform/db/changes.ts'
import { askForTime, type DatabaseClock, followDatabaseClock } from '../platform/db/database-clock.ts'
import { type Db, isDatabaseDown, openDb } from '../platform/db/db.ts'
import { openGroups } from '../platform/db/groups.ts'
import type { OutageListener } from '../platform/db/listen-connection.ts'
import { measurePool } from '../platform/db/metrics.ts'
import { requireUsable } from '../platform/db/usable.ts'
import { type ByteBudget, openByteBudget, TOTAL_BYTES } from '../platform/http/body/byte-budget.ts'
import { type Dependency, type DependencyOutage, logOutages } from '../platform/log/outages.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import { newPresence, type Presence } from '../platform/queue/presence.ts'
import { VERSION } from '../platform/start/version.ts'
import { openTracing } from '../platform/tracing/open.ts'
import { takingTurnsAs } from '../platform/turns.ts'
import { openAppMetrics } from './metrics.ts'

type FixedOptions = {
  config: Config
  /** Takes the place of the database's clock, which is followed otherwise. */
  clock?: Clock
  budget?: ByteBudget
  log: Log
  database_url: string
  blobs: Blobs
  metrics?: Metrics
  work_dir: string
  background: 'sole' | 'shared' | 'none'
  signal?: AbortSignal | undefined
}

export type Fixed = {
  /** The part of the context that no reload replaces. */
  fixed: Omit<Context, keyof Settings>
  pool: pg.Pool
  /** How other processes see this one, where it works on jobs beside them. */
  presence: Presence | null
  /** What this process finds lost. */
  sightings: Sightings
}

/** Opens what a process keeps over every reload: traces, the pool, the clock and announcements of changes. Throws StartError. */
export async function openFixed(options: FixedOptions, stops: AsyncDisposableStack): Promise<Fixed> {
  const { config, database_url, work_dir, signal } = options
  // Closed last: what ends while the rest is closed is traced as well.
  const tracing = config.tracing && (await openTracing({ ...config.tracing, version: VERSION, log: options.log }))
  stops.defer(async () => tracing?.close())
  const on_error = (error: unknown) => log.warn(CONNECTION_LOST, { error })
  const limits = { pool_max: config.database.pool, statement_seconds: STATEMENT_SECONDS }
  const { db, pool } = stops.adopt(openDb(database_url, { ...limits, on_error }), ({ close }) => close())
  const sightings = openSightings()
  const on_outage = (outage: DependencyOutage) => noteOutage(sightings, outage)
  const outages = logOutages(options.log, dependencies(db, options.blobs), { on_outage })
  const { log } = stops.adopt(outages, ({ close }) => close())
  const clock = options.clock ?? stops.adopt(await openClock(pool, log), (opened) => opened.close())
  const { metrics = openAppMetrics() } = options
  engineCallsOf(metrics).onChange((engine, lost) => {
    if (lost) sightings.lost(`engine ${engine}`, { since_ms: lost.since_ms, detail: lost.error })
    else sightings.back(`engine ${engine}`)
  })
  measurePool(metrics, pool)
  const presence = options.background === 'shared' ? newPresence() : null
  const announced = {
    trigger_topics: [IDENTITY_TOPIC],
    onConnect: presence?.announce,
    ...announcementsLogged(options.log),
    signal,
  }
  const changes = stops.adopt(await openChanges({ db, url: database_url, ...announced }), (opened) => opened.close())
  const blobs = keepDuringBackup(options.blobs, db)
  const switches = stops.adopt(await openSwitches({ db, changes, log }), (opened) => opened.close())
  const shared = { groups: openGroups(), budget: options.budget ?? openByteBudget(bytesOf(config)) }
  const fixed = { clock, log, db, blobs, changes, switches, ...shared, metrics, tracing, work_dir }
  return { fixed, pool, presence, sightings }
}

function noteOutage(sightings: Sightings, { name, since_ms, until_ms, error }: DependencyOutage): void {
  const subject = name === 'storage' ? 'bucket' : name
  const detail = error instanceof Error ? error.message : String(error)
  if (until_ms === null) sightings.lost(subject, { since_ms, detail })
  else sightings.back(subject, until_ms)
}

const CONNECTION_LOST = 'database_connection_lost'

function dependencies(db: Db, blobs: Blobs): readonly Dependency[] {
  return [
    {
      name: 'database',
      mayExplain: isDatabaseDown,
      sign: CONNECTION_LOST,
      // Not in the turn of the organization whose request failed first.
      check: () => takingTurnsAs('', () => requireUsable(db)),
    },
    {
      name: 'storage',
      mayExplain: (error) => error instanceof BlobsAway && !error.damaged,
      check: () => blobs.check(),
    },
  ]
}

function bytesOf({ limits }: Config): { owner: number; total: number } {
  const owner = limits.request_mebibytes * 1024 * 1024
  return { owner, total: Math.max(owner, TOTAL_BYTES) }
}

function openClock(pool: pg.Pool, log: Log): Promise<DatabaseClock> {
  const on_step = (milliseconds: number) =>
    log.warn('clock_stepped', { detail: `The database's clock moved by ${Math.round(milliseconds)} ms.` })
  return followDatabaseClock({ ask: askForTime(pool), on_step })
}

function announcementsLogged(log: Log): OutageListener {
  return {
    on_error: (error) => log.warn('announcements_lost', { error }),
    on_recovered: () => log.info('announcements_back'),
  }
}

/** Longest a statement is waited for. Longer than any takes that a request or a step waits for; shorter than clients wait. */
const STATEMENT_SECONDS = 20
