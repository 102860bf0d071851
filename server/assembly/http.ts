import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { serveConsole } from '../console/assets.ts'
import type { LiveContext } from '../context.ts'
import { SIGNED_FILE_PATHS } from '../files/routes.ts'
import type { Authenticator } from '../identity/caller/principal.ts'
import { type Route, registerRoutes } from '../identity/caller/route.ts'
import { openHttp } from '../platform/http/server.ts'
import type { Sockets } from '../platform/http/websocket.ts'
import { explainNotOffered } from '../videos/routes.ts'

/** The HTTP server of a process, with these routes and the console. Nothing listens yet. */
export function buildHttp(
  ctx: LiveContext,
  allRoutes: readonly Route[],
  {
    who,
    sockets,
    stop,
    on_refused,
  }: {
    who: Authenticator
    sockets: Sockets
    stop: () => 'no' | 'unready' | 'draining'
    on_refused?: ((org_id: string, code: string) => void) | undefined
  },
): FastifyInstance {
  const { trusted_proxies, role } = ctx.config
  const explainUnknown = role === 'worker' ? () => WORKER_ONLY : explainNotOffered
  const { log, metrics, tracing } = ctx
  const cors = { origins: () => ctx.config.cors.origins }
  const http = openHttp({ log, metrics, tracing, sockets, stop, trusted_proxies, cors, explainUnknown })
  http.decorateRequest('principal', null)
  http.decorate('onRefused', on_refused)
  http.decorate('publicOrigin', () => new URL(ctx.site.public_url).origin)
  http.register(async (routes) => registerRoutes(routes, ctx, allRoutes, who))
  if (role !== 'worker') serveConsole(http)
  return http
}

/** A node that runs jobs is asked by monitors, and by engines for the files it has given them the URLs of. */
export function answeredBy(role: Config['role'], allRoutes: readonly Route[]): readonly Route[] {
  if (role !== 'worker') return allRoutes
  const own = new Set<string>(['/healthz', '/readyz', ...SIGNED_FILE_PATHS])
  return allRoutes.filter(({ path }) => own.has(path))
}

const WORKER_ONLY = 'This node runs jobs: it answers health checks and signed URLs of files alone.'

/** How long requests in flight, streams and turns of sockets included, may take to end before they are cut off. */
export const DRAIN_SECONDS = 30

/** Takes no more requests, and ends those in flight after DRAIN_SECONDS. */
export async function endRequests(http: FastifyInstance): Promise<void> {
  const deadline = setTimeout(() => http.server.closeAllConnections(), DRAIN_SECONDS * 1000)
  await http.close()
  clearTimeout(deadline)
}

/** The host in the URL of an address to listen on. */
export function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
