import type { FastifyInstance } from 'fastify'
import type { Kysely } from 'kysely'
import { openApiEndpoints } from './api-docs/routes.ts'
import { auditSweep } from './audit/audit.ts'
import { openAuditGate } from './billing/audit-state.ts'
import { openBalanceChanges } from './billing/balance-changes.ts'
import { openMeter } from './billing/meter.ts'
import { billingEndpoints } from './billing/routes.ts'
import { catalogEndpoints } from './catalog/routes.ts'
import { chatEndpoints } from './chat/routes.ts'
import type { Config } from './config/config.ts'
import { serveConsole } from './console/assets.ts'
import { openLiveEvents } from './console/live-events.ts'
import { consoleEndpoints } from './console/routes.ts'
import type { Context, Secrets } from './context.ts'
import { buildEngines, type Engines } from './engines/registry.ts'
import type { KnownBlobs } from './files/installation.ts'
import { keepDuringBackup } from './files/removal.ts'
import { filesSweep, orphanSweep } from './files/retention.ts'
import { fileRoutes } from './files/routes.ts'
import { knownFileBlobs, NAMED_FILE_BLOBS } from './files/store/files.ts'
import { healthEndpoints, openHealth } from './health.ts'
import { type Endpoint, registerEndpoints } from './identity/caller/endpoint.ts'
import type { Authenticator } from './identity/caller/principal.ts'
import { IDENTITY_TOPIC, openIdentity } from './identity/open.ts'
import { identityEndpoints } from './identity/routes.ts'
import { CHILDREN_DEFAULT, limitChildren } from './media/children/concurrency-limit.ts'
import { scratchSweep } from './media/scratch.ts'
import type { Blobs } from './platform/blobs/blobs.ts'
import type { Clock } from './platform/clock.ts'
import { openChanges } from './platform/db/changes.ts'
import { type Database, type Db, openDb } from './platform/db/db.ts'
import { openGroups } from './platform/db/groups.ts'
import { listenOn } from './platform/http/listen.ts'
import { openHttp } from './platform/http/server.ts'
import { openSockets, type Sockets } from './platform/http/websocket.ts'
import type { Log } from './platform/log.ts'
import { type Sweep, startSweeps } from './platform/sweep.ts'
import { type ResponseWorker, startResponseWorker } from './responses/background/response-worker.ts'
import { openContextLengths } from './responses/context/lengths.ts'
import { responseEndpoints } from './responses/http/routes.ts'
import { responseSocket } from './responses/socket/connect.ts'
import { responseSweeps } from './responses/sweeps.ts'
import { openJobCache } from './videos/cache.ts'
import { type Pipeline, startPipeline } from './videos/pipeline/video-worker.ts'
import { videoSweeps } from './videos/retention.ts'
import { explainNotOffered, videoEndpoints } from './videos/routes.ts'
import { findKnownBlobs, NAMED_VIDEO_BLOBS } from './videos/store.ts'
import { openVariants } from './videos/variants/prepare.ts'

export type AppOptions = {
  config: Config
  clock: Clock
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
  ctx: Context
  http: FastifyInstance
  /** Every route the service answers. */
  endpoints: readonly Endpoint[]
  /** Answers on host and port; port 0 picks one. Returns the base URL. Throws StartError when the address cannot be had. */
  listen(at: { host: string; port: number }): Promise<string>
  /** For a process that does not listen itself: the URL at which others of this service do. */
  reachAt(url: string): void
  /** Works on jobs and runs the sweeps, as `background` allows. */
  startBackground(): Promise<void>
  /** Stops taking requests, lets those in flight end, gives jobs back to the queue, closes everything. */
  close(): Promise<void>
}

/** Assembles the service over a migrated database. Nothing runs yet. */
export async function openApp(options: AppOptions): Promise<App> {
  const { config, clock, log, database_url, secret, work_dir } = options
  const on_error = (error: unknown) => log.warn('database_connection_lost', { error })
  const { db, pool, close: closeDb } = openDb(database_url, { pool_max: 16, on_error })
  const blobs = keepDuringBackup(options.blobs, db)
  limitChildren(config.limits.media_children ?? CHILDREN_DEFAULT)
  const engines =
    options.engines ??
    buildEngines(config, { work_dir, config_dir: config.config_dir, log, upstream: upstreamLimits(config) })
  const changes = await openChanges({ db, url: database_url, trigger_topics: [IDENTITY_TOPIC] })
  const site = { public_url: '', engine_url: '' }
  const secrets: Secrets = [secret, ...config.previous_secrets]
  const groups = openGroups()
  const ctx: Context = { config, clock, log, db, blobs, engines, changes, groups, secret, secrets, site, work_dir }
  const identity = await openIdentity({ db, config, clock, log, secrets, site, changes })
  const cache = openJobCache(changes)
  const variants = openVariants(ctx)
  const audit = openAuditGate(ctx)
  const balances = openBalanceChanges(changes)
  const meter = openMeter(db, undefined, balances.changed)
  const responding = { meter, lengths: openContextLengths() }
  const live = openLiveEvents(ctx, identity.callers)
  const state = { draining: false }
  const stopping = new AbortController()
  const sockets = openSockets({ path: '/v1/responses', log })
  const endpoints = [
    ...fileRoutes,
    ...videoEndpoints({ cache, audit, variants }),
    ...catalogEndpoints,
    ...chatEndpoints(meter),
    ...responseEndpoints(responding, { stopping: stopping.signal }),
    responseSocket({ ...responding, sockets, who: identity.authenticator }),
    ...identityEndpoints(identity),
    ...billingEndpoints,
    ...consoleEndpoints(live),
    ...healthEndpoints(openHealth(ctx)),
  ]
  const answered = [...endpoints, ...openApiEndpoints(endpoints)]
  const http = buildHttp(ctx, answered, { who: identity.authenticator, sockets, isDraining: () => state.draining })
  let pipeline: Pipeline | null = null
  let responses: ResponseWorker | null = null
  let sweeping: { stop(): Promise<void> } | null = null

  const reachAt = (url: string) => {
    site.public_url = config.public_url ?? url
    site.engine_url = config.engine_url ?? site.public_url
  }

  return {
    ctx,
    http,
    endpoints: answered,
    reachAt,
    async listen(at) {
      const port = await listenOn(http, at)
      const base = `http://${reachableHost(at.host)}:${port}`
      reachAt(base)
      return base
    },
    async startBackground() {
      if (options.background === 'none') return
      const sole = options.background === 'sole'
      pipeline = startPipeline(ctx, { sole, on_completed: variants.expect })
      responses = startResponseWorker(ctx, responding, { sole, concurrency: config.limits.pipeline_concurrency })
      const failed = (error: unknown, sweep: string) => log.error('sweep_failed', { sweep, error })
      sweeping = startSweeps(allSweeps(ctx, db), { pool, on_error: failed })
    },
    async close() {
      state.draining = true
      stopping.abort()
      live.close()
      await Promise.all([drain(http), sockets.drain({ seconds: DRAIN_SECONDS })])
      await sweeping?.stop()
      await Promise.all([pipeline?.stop(), responses?.stop()])
      await variants.close()
      await meter.close()
      balances.close()
      await engines.close()
      cache.close()
      audit.close()
      await identity.close()
      await changes.close()
      await closeDb()
    },
  }
}

function upstreamLimits({ limits }: Config): { idle_seconds: number; total_seconds: number } {
  return { idle_seconds: limits.upstream_idle_seconds, total_seconds: limits.upstream_total_seconds }
}

/** Every periodic duty. */
export function allSweeps(ctx: Context, db: Kysely<Database>): Sweep[] {
  return [
    ...videoSweeps(ctx),
    ...responseSweeps(ctx),
    filesSweep(ctx),
    scratchSweep(ctx),
    orphanSweep(ctx, blobsKnown(db)),
    auditSweep(ctx),
  ]
}

/** For each feature that keeps blobs, a query for the keys that its rows need. */
export function blobsKnown(db: Db): KnownBlobs[] {
  return [(keys) => knownFileBlobs(db, keys), (keys) => findKnownBlobs(db, keys)]
}

/** For each feature that keeps blobs, the statement that names all of them: key, sha256, size_bytes. */
export const NAMED_BLOBS: readonly string[] = [NAMED_FILE_BLOBS, NAMED_VIDEO_BLOBS]

function buildHttp(
  ctx: Context,
  endpoints: readonly Endpoint[],
  { who, sockets, isDraining }: { who: Authenticator; sockets: Sockets; isDraining: () => boolean },
): FastifyInstance {
  const { trusted_proxies } = ctx.config
  const http = openHttp({ log: ctx.log, sockets, isDraining, trusted_proxies, explainUnknown: explainNotOffered })
  http.decorateRequest('principal', null)
  http.decorate('publicOrigin', () => new URL(ctx.site.public_url).origin)
  http.register(async (routes) => registerEndpoints(routes, ctx, endpoints, who))
  serveConsole(http)
  return http
}

/** How long requests in flight, streams and turns of sockets included, may take to end before they are cut off. */
const DRAIN_SECONDS = 30

async function drain(http: FastifyInstance): Promise<void> {
  const deadline = setTimeout(() => http.server.closeAllConnections(), DRAIN_SECONDS * 1000)
  await http.close()
  clearTimeout(deadline)
}

function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
