import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { openApiRoutes } from './api-docs/routes.ts'
import { type Background, startBackground } from './assembly/background.ts'
import { openFixed } from './assembly/fixed.ts'
import { measureHealth } from './assembly/health.ts'
import { answeredBy, buildHttp, DRAIN_SECONDS, endRequests, reachableHost } from './assembly/http.ts'
import { processDescription } from './assembly/process-state.ts'
import { limitMedia, openSettings, secretsOf } from './assembly/settings.ts'
import { openAuditGate } from './billing/audit-state.ts'
import { openBalanceChanges } from './billing/balance-changes.ts'
import { type Meter, openMeter } from './billing/meter.ts'
import { usageCounter } from './billing/metrics.ts'
import { billingRoutes } from './billing/routes.ts'
import { openStorageGate } from './billing/storage/gate.ts'
import { catalogRoutes } from './catalog/routes.ts'
import { chatRoutes } from './chat/routes.ts'
import type { Config } from './config/config.ts'
import { openLiveEvents } from './console/live-events.ts'
import { consoleRoutes } from './console/routes.ts'
import type { LiveContext } from './context.ts'
import { conversationRoutes } from './conversations/routes.ts'
import { joinConversation } from './conversations/turns.ts'
import { measureBreakers } from './engines/breaker-metrics.ts'
import type { Engines } from './engines/registry.ts'
import { fileRoutes } from './files/routes.ts'
import { healthRoutes, openHealth, openLastAudit } from './health.ts'
import type { Route } from './identity/caller/route.ts'
import { type Identity, openIdentity } from './identity/open.ts'
import { identityRoutes } from './identity/routes.ts'
import { openRefusals } from './operations/refusals.ts'
import { openReports } from './operations/reports.ts'
import type { Sightings } from './operations/sightings.ts'
import type { Blobs } from './platform/blobs/blobs.ts'
import type { Clock } from './platform/clock.ts'
import type { ByteBudget } from './platform/http/body/byte-budget.ts'
import { listenOn } from './platform/http/listen.ts'
import { STREAM_TIMING, type StreamTiming } from './platform/http/sse.ts'
import { openSockets, SOCKET_TIMING, type Sockets, type SocketTiming } from './platform/http/websocket.ts'
import type { Log } from './platform/log.ts'
import type { Metrics } from './platform/metrics/metrics.ts'
import { openWithStops } from './platform/start/stops.ts'
import { changedSettings } from './reload/changed-settings.ts'
import { openLiveContext } from './reload/live-context.ts'
import type { NextSettings, PreparedReload } from './reload/node.ts'
import { openContextLengths } from './responses/context/lengths.ts'
import { responseRoutes } from './responses/http/routes.ts'
import { responseSocket } from './responses/socket/connect.ts'
import { openJobCache } from './videos/cache.ts'
import { videoRoutes } from './videos/routes.ts'
import { openVariants } from './videos/variants/prepare.ts'
import { webhookRoutes } from './webhooks/routes.ts'

export type AppOptions = {
  config: Config
  /** Takes the place of the database's clock, which is followed otherwise. */
  clock?: Clock
  log: Log
  database_url: string
  blobs: Blobs
  /** What was counted before the service was opened goes on; new ones otherwise. */
  metrics?: Metrics
  secret: string
  /** Existing directory for work in progress. */
  work_dir: string
  /** Of the node that this process belongs to, under which it reports what it does. */
  node_id?: string
  /** Whether this process works on jobs: as the only worker on this database, as one of several, or not at all. */
  background: 'sole' | 'shared' | 'none'
  /** Ends a start that waits for the database. */
  signal?: AbortSignal | undefined
  /** Takes the place of the usual one. */
  budget?: ByteBudget
  /** Takes the place of the configured engines. */
  engines?: Engines
  /** How long connections may be quiet, unread or open, where it is not the usual time. */
  timing?: Partial<StreamTiming & SocketTiming & { lifetime_seconds: number }>
}

export type App = {
  ctx: LiveContext
  http: FastifyInstance
  /** Every route the service answers. */
  routes: readonly Route[]
  /** Who calls, and what calls cost, as every route sees it. */
  identity: Identity
  meter: Meter
  /** Answers on host and port; port 0 picks one. Returns the base URL. Throws StartError when the address cannot be had. */
  listen(at: { host: string; port: number }): Promise<string>
  /** For a process that does not listen itself: the URL at which others of this service do. */
  reachAt(url: string): void
  /** Works on jobs and runs the sweeps, as `background` allows. */
  startBackground(): Promise<void>
  /** The names of what another configuration would change. Throws StartError when a change needs a restart. */
  changedBy(next: NextSettings): string[]
  /** Builds what another configuration sets up, to be taken up as a whole: what began before ends with the settings it began with. */
  prepareReload(next: NextSettings): PreparedReload
  /** Takes up another configuration at once. Throws, with nothing changed, when what it sets up cannot be had. */
  reload(next: NextSettings): void
  /** Closes engines of earlier configurations that no unfinished job needs; done every half minute. */
  closeFormerEngines(): Promise<void>
  /**
   * Answers as before but is unready for `drain.seconds`, until `drain.skip` aborts; then stops taking requests, lets those in flight end,
   * gives jobs back to the queue, closes everything.
   */
  close(drain?: { seconds: number; skip: AbortSignal }): Promise<void>
}

/** Assembles the service over a migrated database. Nothing runs yet. Throws StartError, with nothing left open. */
export function openApp(options: AppOptions): Promise<App> {
  return openWithStops(options.log, (stops) => assemble(options, stops))
}

async function assemble(options: AppOptions, stops: AsyncDisposableStack): Promise<App> {
  const { config, log } = options
  const { fixed, pool, presence, sightings } = await openFixed(options, stops)
  const settings = openSettings(options, fixed)
  const live_context = stops.adopt(openLiveContext(fixed, settings.first), (each) => each.close())
  const { ctx } = live_context
  const parts = await openParts(ctx, options, stops)
  const { identity, responding, variants, live } = parts
  const state: { stop: 'no' | 'unready' | 'draining' } = { stop: 'no' }
  const stopping = new AbortController()
  const isStopping = () => state.stop !== 'no'
  const health = { check: openHealth(ctx), lastAudit: openLastAudit(ctx.db), isStopping }
  measureHealth(ctx.metrics, health)
  measureBreakers(ctx)
  const { timing = {} } = options
  const sockets = openSockets({
    path: '/v1/responses',
    log,
    budget: ctx.budget,
    timing: { ...SOCKET_TIMING, ...timing },
  })
  const routes = routesOf(parts, { ctx, sockets, timing, stopping: stopping.signal, health })
  const operations = openOperations(ctx, { ...options, ...health, sightings }, stops)
  const answered = answeredBy(config.role, [...routes, ...openApiRoutes(routes)])
  const http = buildHttp(ctx, answered, {
    who: identity.authenticator,
    sockets,
    stop: () => state.stop,
    on_refused: operations?.refusals.count,
  })
  const prepareReload = (next: NextSettings): PreparedReload => {
    const built = settings.build(next, ctx)
    const apply = () => {
      limitMedia(next)
      live_context.replace(built)
    }
    return { apply, discard: built.engines.close }
  }
  let background: Background | null = null
  stops.defer(async () => background?.stop())
  stops.defer(async () => void (await Promise.all([endRequests(http), sockets.drain({ seconds: DRAIN_SECONDS })])))
  // Before requests are waited for: streams of events last until they are ended.
  stops.defer(() => live.close())
  stops.defer(() => stopping.abort())
  const closeFormerEngines = () =>
    live_context.closeFormer().catch((error: unknown) => log.warn('engine_not_closed', { error }))
  const closing = setInterval(() => void closeFormerEngines(), CLOSE_FORMER_SECONDS * 1000).unref()
  stops.defer(() => clearInterval(closing))

  return {
    ctx,
    http,
    routes: answered,
    identity,
    meter: parts.meter,
    reachAt: (url) => settings.reachAt(ctx.site, url, ctx.config),
    changedBy: (next) => changedSettings(ctx, { ...next, secrets: secretsOf(next) }),
    prepareReload,
    reload: (next) => prepareReload(next).apply(),
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
      await stops.disposeAsync()
    },
  }
}

/** What routes share in a process and a request does not carry, each closed before what it uses. */
async function openParts(ctx: LiveContext, options: AppOptions, stops: AsyncDisposableStack) {
  const { db, clock, log, changes, metrics } = ctx
  const identity = stops.adopt(await openIdentity({ db, clock, log, live: ctx, changes }), (each) => each.close())
  const audit = stops.adopt(openAuditGate(ctx), (each) => each.close())
  const cache = stops.adopt(openJobCache({ changes, only: isOnlyProcess(options) }), (each) => each.close())
  const balances = stops.adopt(openBalanceChanges(changes), (each) => each.close())
  const counter = usageCounter(metrics, options.config.currency)
  const meter = stops.adopt(openMeter(db, undefined, balances.changed, counter), (each) => each.close())
  const variants = stops.adopt(openVariants(ctx), (each) => each.close())
  const live = stops.adopt(openLiveEvents(ctx, identity.callers), (each) => each.close())
  const storage = openStorageGate(db)
  const responding = { meter, storage, lengths: openContextLengths(), join: joinConversation }
  return { identity, audit, storage, cache, variants, live, meter, responding }
}

/** What a process of a node writes for whoever operates it. */
function openOperations(
  ctx: LiveContext,
  {
    node_id,
    sightings,
    ...health
  }: Pick<AppOptions, 'node_id'> & { sightings: Sightings } & Parameters<typeof processDescription>[1],
  stops: AsyncDisposableStack,
) {
  if (node_id === undefined) return null
  const { db, clock, log } = ctx
  const { describe } = stops.adopt(processDescription(ctx, health), (each) => each.close())
  stops.adopt(openReports({ db, clock, log, node_id, sightings, describe }), (each) => each.close())
  return { refusals: stops.adopt(openRefusals({ db, clock, log }), (each) => each.close()) }
}

type Parts = Awaited<ReturnType<typeof openParts>>

/** Every route of the API and the console. */
function routesOf(
  { identity, audit, storage, cache, variants, live, meter, responding }: Parts,
  {
    ctx,
    sockets,
    timing,
    stopping,
    health,
  }: {
    ctx: LiveContext
    sockets: Sockets
    timing: NonNullable<AppOptions['timing']>
    stopping: AbortSignal
    health: Parameters<typeof healthRoutes>[0]
  },
): Route[] {
  const streams = { ...STREAM_TIMING, ...timing }
  const { lifetime_seconds } = timing
  const gates = { audit, storage }
  return [
    ...fileRoutes(storage),
    ...videoRoutes({ cache, gates, variants }),
    ...catalogRoutes,
    ...chatRoutes(meter, streams),
    ...responseRoutes(responding, { timing: streams, stopping }),
    responseSocket({ ...responding, sockets, who: identity.authenticator, live: ctx, lifetime_seconds }),
    ...identityRoutes(identity),
    ...billingRoutes,
    ...webhookRoutes(),
    ...conversationRoutes(storage),
    ...consoleRoutes({ live, gates }),
    ...healthRoutes(health),
  ]
}

/** Works on the jobs of an embedded database, and answers for them by itself. */
function isOnlyProcess({ background, config }: AppOptions): boolean {
  return background === 'sole' && config.workers === 1
}

/** How often engines of earlier configurations are looked at. */
const CLOSE_FORMER_SECONDS = 30
