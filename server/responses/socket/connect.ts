import type { FastifyRequest } from 'fastify'
import type { LiveContext } from '../../context.ts'
import { requireSameOrigin } from '../../identity/caller/csrf.ts'
import type { Authenticator } from '../../identity/caller/principal.ts'
import { type Route, route } from '../../identity/caller/route.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Sockets } from '../../platform/http/websocket.ts'
import { takingTurnsAs } from '../../platform/turns.ts'
import type { ResponseDeps } from '../call.ts'
import { openContextCaches } from './context-cache.ts'
import { LIFETIME_SECONDS, serveRuns } from './queue.ts'

export type ResponseSocketDeps = ResponseDeps & {
  sockets: Sockets
  who: Authenticator
  live: Pick<LiveContext, 'use'>
  lifetime_seconds?: number | undefined
}

/** `GET /v1/responses` as a WebSocket: each message of the client requests one response. 405 without an upgrade. */
export function responseSocket(deps: ResponseSocketDeps): Route {
  const { lifetime_seconds = LIFETIME_SECONDS } = deps
  const openCache = openContextCaches()
  return route({
    method: 'GET',
    path: '/v1/responses',
    auth: 'api_key_or_session',
    summary: 'Open a WebSocket of responses',
    description: 'Each `response.create` message on the connection is answered by the events of one response.',
    upgrade: 'websocket',
    errors: ['invalid_request_error', 'csrf_failed', 'method_not_allowed'],
    async handle(_ctx, { principal, request, reply }) {
      if (principal.via === 'session' && deps.sockets.isHandshake(request.raw)) requireOwnOrigin(request)
      const { authorization, cookie } = request.headers
      const opened = deps.sockets.accept({
        request,
        reply,
        owner: principal.org_id,
        serve(connection) {
          const cache = openCache()
          connection.signal.addEventListener('abort', () => cache.clear())
          const runs = { live: deps.live, deps, connection, cache, credential: { authorization, cookie } }
          const take = serveRuns(runs, lifetime_seconds)
          return (text, lease) => takingTurnsAs(principal.org_id, () => take(text, lease))
        },
      })
      if (!opened) throw upgradeRequired()
      return opened
    },
  })
}

function upgradeRequired(): ApiError {
  return new ApiError('method_not_allowed', 'GET is not allowed here without a WebSocket handshake. Allowed: POST.', {
    headers: { allow: 'POST' },
  })
}

/** Browsers send the session cookie with handshakes of any page, so only our own origin is accepted. */
function requireOwnOrigin(request: FastifyRequest): void {
  requireSameOrigin(request)
  if (request.headers.origin !== undefined) return
  throw new ApiError('csrf_failed', 'The WebSocket handshake has no Origin header. Use an API key.')
}
