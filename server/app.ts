import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import { openApiEndpoints } from './api-docs/routes.ts'
import { type Background, startBackground } from './assembly/background.ts'
import { answeredBy, buildHttp, DRAIN_SECONDS, endRequests, reachableHost } from './assembly/http.ts'
import { openAppMetrics } from './assembly/metrics.ts'
import { openSettings, secretsOf } from './assembly/settings.ts'
import { openAuditGate } from './billing/audit-state.ts'
import { openBalanceChanges } from './billing/balance-changes.ts'
import { openMeter } from './billing/meter.ts'
import { usageCounter } from './billing/metrics.ts'
import { billingEndpoints } from './billing/routes.ts'
import { catalogEndpoints } from './catalog/routes.ts'
import { chatEndpoints } from './chat/routes.ts'
import type { Config } from './config/config.ts'
import { openLiveEvents } from './console/live-events.ts'
import { consoleEndpoints } from './console/routes.ts'
import type { LiveContext } from './context.ts'
import type { Engines } from './engines/registry.ts'
import { keepDuringBackup } from './files/removal.ts'
import { fileRoutes } from './files/routes.ts'
import { healthEndpoints, openHealth } from './health.ts'
import type { Endpoint } from './identity/caller/endpoint.ts'
import { IDENTITY_TOPIC, openIdentity } from './identity/open.ts'
import { identityEndpoints } from './identity/routes.ts'
import type { Blobs } from './platform/blobs/blobs.ts'
import type { Clock } from './platform/clock.ts'
import { openChanges } from './platform/db/changes.ts'
import { askForTime, type DatabaseClock, followDatabaseClock } from './platform/db/database-clock.ts'
import { openDb } from './platform/db/db.ts'
import { openGroups } from './platform/db/groups.ts'
import { observePool } from './platform/db/metrics.ts'
import { listenOn } from './platform/http/listen.ts'
import { openSockets } from './platform/http/websocket.ts'
import type { Log } from './platform/log.ts'
import { newPresence } from './platform/queue/presence.ts'
import { VERSION } from './platform/start/version.ts'
import { openTracing } from './platform/tracing/open.ts'
import { changedSettings } from './reload/changed-settings.ts'
import { openLiveContext } from './reload/live-context.ts'
import { openContextLengths } from './responses/context/lengths.ts'
import { responseEndpoints } from './responses/http/routes.ts'
import { responseSocket } from './responses/socket/connect.ts'
import { openJobCache } from './videos/cache.ts'
import { videoEndpoints } from './videos/routes.ts'
import { openVariants } from './videos/variants/prepare.ts'
import { webhookEndpoints } from './webhooks/routes.ts'

export type AppOptions = {
  config: Config
  /** Takes the place of the database's clock, which is followed otherwise. */
  clock?: Clock
  log: Log
  database_url: string
  blobs: Blobs
  secret: string
  /** Existing directory for work in progress. */
  work_dir: string
  /** Whether this process works on jobs: as the only worker on this database, as one of several, or not at all. */
  background: 'sole' | 'shared' | 'none'
  /** Takes the place of the configured engines. */
  engines?: Engines
}

export type App = {
  ctx: LiveContext
  http: FastifyInstance
  /** Every route the service answers. */
  endpoints: readonly Endpoint[]
  /** Answers on host and port; port 0 picks one. Returns the base URL. Throws StartError when the address cannot be had. */
  listen(at: { host: string; port: number }): Promise<string>
  /** For a process that does not listen itself: the URL at which others of this service do. */
  reachAt(url: string): void
  /** Works on jobs and runs the sweeps, as `background` allows. */
  startBackground(): Promise<void>
  /** The names of what another configuration would change. Throws StartError when a change needs a restart. */
  changedBy(next: { config: Config; secret: string }): string[]
  /** Takes up another configuration, as a whole: what began before ends with the settings it began with. */
  reload(next: { config: Config; secret: string }): void
  /** Closes engines of earlier configurations that no unfinished job needs; done every half minute. */
  closeFormerEngines(): Promise<void>
  /**
   * Answers as before but is unready for `drain.seconds`, until `drain.skip` aborts; then stops taking requests, lets those in flight end,
   * gives jobs back to the queue, closes everything.
   */
  close(drain?: { seconds: number; skip: AbortSignal }): Promise<void>
}

/** Assembles the service over a migrated database. Nothing runs yet. */
export async function openApp(options: AppOptions): Promise<App> {
  const { config, log, database_url, work_dir } = options
  const on_error = (error: unknown) => log.warn('database_connection_lost', { error })
  const limits = { pool_max: config.database.pool, statement_seconds: STATEMENT_SECONDS }
  const { db, pool, close: closeDb } = openDb(database_url, { ...limits, on_error })
  const blobs = keepDuringBackup(options.blobs, db)
  const databaseClock = options.clock ? null : await openClock(pool, log)
  const clock = options.clock ?? databaseClock!
  const metrics = openAppMetrics()
  observePool(metrics, pool)
  const tracing = config.tracing && (await openTracing({ ...config.tracing, version: VERSION, log }))
  const settings = openSettings(options, { metrics, tracing })
  const presence = options.background === 'shared' ? newPresence() : null
  const announced = { trigger_topics: [IDENTITY_TOPIC], onConnect: presence?.announce }
  const changes = await openChanges({ db, url: database_url, ...announced })
  const groups = openGroups()
  const fixed = { clock, log, db, blobs, changes, groups, metrics, tracing, work_dir }
  const live_context = openLiveContext(fixed, settings.first)
  const { ctx } = live_context
  const identity = await openIdentity({ db, clock, log, live: ctx, changes })
  const cache = openJobCache({ changes, only: isOnlyProcess(options) })
  const variants = openVariants(ctx)
  const audit = openAuditGate(ctx)
  const balances = openBalanceChanges(changes)
  const meter = openMeter(db, undefined, balances.changed, usageCounter(metrics, config.currency))
  const responding = { meter, lengths: openContextLengths() }
  const live = openLiveEvents(ctx, identity.callers)
  const state: { stop: 'no' | 'unready' | 'draining' } = { stop: 'no' }
  const stopping = new AbortController()
  const sockets = openSockets({ path: '/v1/responses', log })
  const endpoints = [
    ...fileRoutes,
    ...videoEndpoints({ cache, audit, variants }),
    ...catalogEndpoints,
    ...chatEndpoints(meter),
    ...responseEndpoints(responding, { stopping: stopping.signal }),
    responseSocket({ ...responding, sockets, who: identity.authenticator, live: ctx }),
    ...identityEndpoints(identity),
    ...billingEndpoints,
    ...webhookEndpoints(),
    ...consoleEndpoints(live),
    ...healthEndpoints({ check: openHealth(ctx), isStopping: () => state.stop !== 'no' }),
  ]
  const answered = answeredBy(config.role, [...endpoints, ...openApiEndpoints(endpoints)])
  const http = buildHttp(ctx, answered, { who: identity.authenticator, sockets, stop: () => state.stop })
  let background: Background | null = null
  const closing = setInterval(() => void closeFormerEngines(), CLOSE_FORMER_SECONDS * 1000).unref()
  const closeFormerEngines = () =>
    live_context.closeFormer().catch((error: unknown) => log.warn('engine_not_closed', { error }))

  return {
    ctx,
    http,
    endpoints: answered,
    reachAt: (url) => settings.reachAt(ctx.site, url, ctx.config),
    changedBy: (next) => changedSettings(ctx, { ...next, secrets: secretsOf(next) }),
    reload: (next) => live_context.replace(settings.build(next, ctx)),
    closeFormerEngines,
    async listen(at) {
      const port = await listenOn(http, at)
      const base = `http://${reachableHost(at.host)}:${port}`
      settings.reachAt(ctx.site, base, ctx.config)
      return base
    },
    async startBackground() {
      if (options.background === 'none') return
      const sole = options.background === 'sole'
      background = startBackground(ctx, { pool, responding, variants, sole, presence })
    },
    async close(drain) {
      state.stop = 'unready'
      if (drain) await sleep(drain.seconds * 1000, undefined, { signal: drain.skip }).catch(() => {})
      state.stop = 'draining'
      clearInterval(closing)
      stopping.abort()
      live.close()
      await Promise.all([endRequests(http), sockets.drain({ seconds: DRAIN_SECONDS })])
      await background?.stop()
      await variants.close()
      await meter.close()
      balances.close()
      cache.close()
      await live_context.close()
      audit.close()
      await identity.close()
      await changes.close()
      databaseClock?.close()
      await closeDb()
      await tracing?.close()
    },
  }
}

/** Works on the jobs of an embedded database, and answers for them by itself. */
function isOnlyProcess({ background, config }: AppOptions): boolean {
  return background === 'sole' && config.workers === 1
}

function openClock(pool: pg.Pool, log: Log): Promise<DatabaseClock> {
  const on_step = (milliseconds: number) =>
    log.warn('clock_stepped', { detail: `The database's clock moved by ${Math.round(milliseconds)} ms.` })
  return followDatabaseClock({ ask: askForTime(pool), on_step })
}

/** How often engines of earlier configurations are looked at. */
const CLOSE_FORMER_SECONDS = 30

/** Longest a statement is waited for. Longer than any takes that a request or a step waits for; shorter than clients wait. */
const STATEMENT_SECONDS = 20
