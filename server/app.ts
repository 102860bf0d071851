import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Kysely } from 'kysely'
import type pg from 'pg'
import { openApiEndpoints } from './api-docs/routes.ts'
import { auditSweep } from './audit/audit.ts'
import { auditMetrics, observeAudit } from './audit/metrics.ts'
import { openAuditGate } from './billing/audit-state.ts'
import { openBalanceChanges } from './billing/balance-changes.ts'
import { openMeter } from './billing/meter.ts'
import { billingMetrics, usageCounter } from './billing/metrics.ts'
import { billingEndpoints } from './billing/routes.ts'
import { catalogEndpoints } from './catalog/routes.ts'
import { chatMetrics } from './chat/observe-turn.ts'
import { chatEndpoints } from './chat/routes.ts'
import type { Config } from './config/config.ts'
import { serveConsole } from './console/assets.ts'
import { openLiveEvents } from './console/live-events.ts'
import { consoleEndpoints } from './console/routes.ts'
import type { Context, LiveContext, Secrets, Settings } from './context.ts'
import type { EngineEnv } from './engines/engine-entry.ts'
import { engineMeasurer, engineMetrics } from './engines/measured.ts'
import { buildEngines, type Engines } from './engines/registry.ts'
import type { SharedEngines } from './engines/shared-engines.ts'
import { deliveryQueue, observedDeliveryQueue } from './events/store/delivery-claims.ts'
import type { KnownBlobs } from './files/installation.ts'
import { keepDuringBackup } from './files/removal.ts'
import { filesSweep, orphanSweep } from './files/retention.ts'
import { fileRoutes, SIGNED_FILE_PATH } from './files/routes.ts'
import { knownFileBlobs, NAMED_FILE_BLOBS } from './files/store/files.ts'
import { healthEndpoints, openHealth } from './health.ts'
import { activitySweep } from './identity/activity/activity.ts'
import { type Endpoint, registerEndpoints } from './identity/caller/endpoint.ts'
import type { Authenticator } from './identity/caller/principal.ts'
import { IDENTITY_TOPIC, openIdentity } from './identity/open.ts'
import { identityEndpoints } from './identity/routes.ts'
import { CHILDREN_DEFAULT, limitChildren } from './media/children/concurrency-limit.ts'
import { scratchSweep } from './media/scratch.ts'
import type { Blobs } from './platform/blobs/blobs.ts'
import type { Clock } from './platform/clock.ts'
import { openChanges } from './platform/db/changes.ts'
import { askForTime, type DatabaseClock, followDatabaseClock } from './platform/db/database-clock.ts'
import { type Database, type Db, openDb } from './platform/db/db.ts'
import { openGroups } from './platform/db/groups.ts'
import { databaseMetrics, observeDatabase, observePool } from './platform/db/metrics.ts'
import { onOneConnection } from './platform/db/one-connection.ts'
import { listenOn } from './platform/http/listen.ts'
import { httpMetrics } from './platform/http/request-metrics.ts'
import { openHttp } from './platform/http/server.ts'
import { openSockets, type Sockets } from './platform/http/websocket.ts'
import type { Log } from './platform/log.ts'
import { declareMetrics, type Metrics, openMetrics } from './platform/metrics/metrics.ts'
import { observeQueues, queueMetrics } from './platform/queue/depth.ts'
import { newPresence, watchWorkers } from './platform/queue/presence.ts'
import { VERSION } from './platform/start/version.ts'
import { type Sweep, startSweeps, sweepMetrics } from './platform/sweep.ts'
import { openTracing } from './platform/tracing/open.ts'
import type { Tracing } from './platform/tracing/tracing.ts'
import { changedSettings } from './reload/changed-settings.ts'
import { openLiveContext } from './reload/live-context.ts'
import { observedResponseQueue, responseQueue } from './responses/background/claims.ts'
import { type ResponseWorker, startResponseWorker } from './responses/background/response-worker.ts'
import { openContextLengths } from './responses/context/lengths.ts'
import { responseEndpoints } from './responses/http/routes.ts'
import { responseSocket } from './responses/socket/connect.ts'
import { responseSweeps } from './responses/sweeps.ts'
import { openJobCache } from './videos/cache.ts'
import { observedVideoQueues, videoQueues } from './videos/pipeline/claims.ts'
import { videoMetrics } from './videos/pipeline/observe-jobs.ts'
import { type Pipeline, startPipeline } from './videos/pipeline/video-worker.ts'
import { videoSweeps } from './videos/retention.ts'
import { explainNotOffered, videoEndpoints } from './videos/routes.ts'
import { findKnownBlobs, NAMED_VIDEO_BLOBS } from './videos/store.ts'
import { openVariants } from './videos/variants/prepare.ts'
import { type DeliveryWorker, startDeliveryWorker } from './webhooks/delivery-worker.ts'
import { webhookEndpoints } from './webhooks/routes.ts'
import { webhookSweeps } from './webhooks/sweeps.ts'

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
  const cache = openJobCache()
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
  let pipeline: Pipeline | null = null
  let responses: ResponseWorker | null = null
  let deliveries: DeliveryWorker | null = null
  let sweeping: { stop(): Promise<void> } | null = null
  let watching: { stop(): Promise<void> } | null = null
  const closing = setInterval(() => void closeFormerEngines(), CLOSE_FORMER_SECONDS * 1000).unref()
  const closeFormerEngines = () =>
    live_context.closeFormer().catch((error: unknown) => log.warn('engine_not_closed', { error }))

  return {
    ctx,
    http,
    endpoints: answered,
    reachAt: (url) => settings.reachAt(ctx.site, url),
    changedBy: (next) => changedSettings(ctx, { ...next, secrets: secretsOf(next) }),
    reload: (next) => live_context.replace(settings.build(next, ctx)),
    closeFormerEngines,
    async listen(at) {
      const port = await listenOn(http, at)
      const base = `http://${reachableHost(at.host)}:${port}`
      settings.reachAt(ctx.site, base)
      return base
    },
    async startBackground() {
      if (options.background === 'none') return
      const sole = options.background === 'sole'
      observeDatabase(metrics, pool)
      observeAudit(metrics, db)
      observeQueues(ctx, [...observedVideoQueues, observedResponseQueue, observedDeliveryQueue])
      const worker = { sole, worker_id: presence?.worker_id }
      pipeline = startPipeline(ctx, { ...worker, on_completed: variants.expect })
      responses = startResponseWorker(ctx, responding, { ...worker, concurrency: config.limits.pipeline_concurrency })
      deliveries = startDeliveryWorker(ctx, worker)
      if (presence) watching = watchForDead(ctx)
      const sweeps = allSweeps(ctx, db)
      const { failures } = sweepMetrics(metrics)
      for (const { name } of sweeps) failures.of(name)
      const failed = (error: unknown, sweep: string) => {
        failures.of(sweep).add(1)
        log.error('sweep_failed', { sweep, error })
      }
      sweeping = startSweeps(sweeps, { pool: onOneConnection(pool), on_error: failed })
    },
    async close(drain) {
      state.stop = 'unready'
      if (drain) await sleep(drain.seconds * 1000, undefined, { signal: drain.skip }).catch(() => {})
      state.stop = 'draining'
      clearInterval(closing)
      stopping.abort()
      live.close()
      await Promise.all([endRequests(http), sockets.drain({ seconds: DRAIN_SECONDS })])
      await Promise.all([sweeping?.stop(), watching?.stop()])
      await Promise.all([pipeline?.stop(), responses?.stop(), deliveries?.stop()])
      await presence?.leave(db).catch(() => {})
      await variants.close()
      await meter.close()
      balances.close()
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

function openClock(pool: pg.Pool, log: Log): Promise<DatabaseClock> {
  const on_step = (milliseconds: number) =>
    log.warn('clock_stepped', { detail: `The database's clock moved by ${Math.round(milliseconds)} ms.` })
  return followDatabaseClock({ ask: askForTime(pool), on_step })
}

/** How often engines of earlier configurations are looked at. */
const CLOSE_FORMER_SECONDS = 30

function secretsOf({ config, secret }: { config: Config; secret: string }): Secrets {
  return [secret, ...config.previous_secrets]
}

/** Builds what a configuration sets up in this process: its engines, where they did not change those of the configuration before. */
function openSettings(options: AppOptions, observed: { metrics: Metrics; tracing: Tracing | null }) {
  const shared: SharedEngines = new Map()
  const measured = engineMeasurer(observed)
  let listening_at = ''
  const reachAt = (site: Settings['site'], url: string, config = options.config) => {
    listening_at = url
    site.public_url = config.public_url ?? url
    site.engine_url = config.engine_url ?? site.public_url
  }
  const build = (next: { config: Config; secret: string }, before?: Settings): Settings => {
    const { config, secret } = next
    const { upstream_idle_seconds: idle_seconds, upstream_total_seconds: total_seconds, media_children } = config.limits
    const upstream = { idle_seconds, total_seconds }
    const env: EngineEnv = { work_dir: options.work_dir, config_dir: config.config_dir, log: options.log, upstream }
    const built = options.engines ?? buildEngines(config, env, { shared })
    const engines = measured(built, config, before?.engines)
    limitChildren(media_children ?? CHILDREN_DEFAULT)
    const site = { public_url: '', engine_url: '' }
    if (listening_at !== '') reachAt(site, listening_at, config)
    return { config, engines, secret, secrets: secretsOf(next), site }
  }
  return { first: build(options), build, reachAt }
}

const buildMetrics = declareMetrics((metrics) => ({
  info: metrics.gauge({
    name: 'kinora_build_info',
    help: 'Always 1. The versions are in the labels.',
    labels: ['version', 'node'],
    merge: 'max',
  }),
}))

/** The metrics of every feature. */
export function openAppMetrics(): Metrics {
  const metrics = openMetrics()
  const features = [
    ...[httpMetrics, chatMetrics, billingMetrics, videoMetrics, engineMetrics],
    ...[queueMetrics, sweepMetrics, auditMetrics, databaseMetrics, buildMetrics],
  ]
  for (const declare of features) declare(metrics)
  buildMetrics(metrics).info.of(VERSION, process.version).set(1)
  return metrics
}

/** Reclaims the rows of processes that died. */
function watchForDead({ db, changes, log }: Context): { stop(): Promise<void> } {
  return watchWorkers({
    ...{ db, changes, queues: [...videoQueues, responseQueue, deliveryQueue] },
    on_released: (count) => log.warn('rows_reclaimed', { count }),
    on_error: (error) => log.error('queue_failed', { error }),
  })
}

/** Every periodic duty. */
export function allSweeps(ctx: Context, db: Kysely<Database>): Sweep[] {
  return [
    ...videoSweeps(ctx),
    ...responseSweeps(ctx),
    ...webhookSweeps(ctx),
    filesSweep(ctx),
    scratchSweep(ctx),
    orphanSweep(ctx, blobsKnown(db)),
    auditSweep(ctx),
    activitySweep(ctx),
  ]
}

/** For each feature that keeps blobs, a query for the keys that its rows need. */
export function blobsKnown(db: Db): KnownBlobs[] {
  return [(keys) => knownFileBlobs(db, keys), (keys) => findKnownBlobs(db, keys)]
}

/** For each feature that keeps blobs, the statement that names all of them: key, sha256, size_bytes. */
export const NAMED_BLOBS: readonly string[] = [NAMED_FILE_BLOBS, NAMED_VIDEO_BLOBS]

function buildHttp(
  ctx: LiveContext,
  endpoints: readonly Endpoint[],
  { who, sockets, stop }: { who: Authenticator; sockets: Sockets; stop: () => 'no' | 'unready' | 'draining' },
): FastifyInstance {
  const { trusted_proxies, role } = ctx.config
  const explainUnknown = role === 'worker' ? () => WORKER_ONLY : explainNotOffered
  const { log, metrics, tracing } = ctx
  const http = openHttp({ log, metrics, tracing, sockets, stop, trusted_proxies, explainUnknown })
  http.decorateRequest('principal', null)
  http.decorate('publicOrigin', () => new URL(ctx.site.public_url).origin)
  http.register(async (routes) => registerEndpoints(routes, ctx, endpoints, who))
  if (role !== 'worker') serveConsole(http)
  return http
}

/** A node that runs jobs is asked by monitors, and by engines for the files it has given them the URLs of. */
function answeredBy(role: Config['role'], endpoints: readonly Endpoint[]): readonly Endpoint[] {
  if (role !== 'worker') return endpoints
  const own = new Set(['/healthz', '/readyz', SIGNED_FILE_PATH])
  return endpoints.filter(({ path }) => own.has(path))
}

const WORKER_ONLY = 'This node runs jobs: it answers health checks and signed URLs of files alone.'

/** Longest a statement is waited for. Longer than any takes that a request or a step waits for; shorter than clients wait. */
const STATEMENT_SECONDS = 20

/** How long requests in flight, streams and turns of sockets included, may take to end before they are cut off. */
const DRAIN_SECONDS = 30

async function endRequests(http: FastifyInstance): Promise<void> {
  const deadline = setTimeout(() => http.server.closeAllConnections(), DRAIN_SECONDS * 1000)
  await http.close()
  clearTimeout(deadline)
}

function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
