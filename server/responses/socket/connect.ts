import type { FastifyRequest } from 'fastify'
import type { Meter } from '../../billing/meter.ts'
import { requireSameOrigin } from '../../identity/caller/csrf.ts'
import { type Endpoint, endpoint } from '../../identity/caller/endpoint.ts'
import type { Authenticator } from '../../identity/caller/principal.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Sockets } from '../../platform/http/websocket.ts'
import { openSocketMemories } from './memory.ts'
import { LIFETIME_SECONDS, serveTurns } from './queue.ts'

export type ResponseSocketDeps = { sockets: Sockets; meter: Meter; who: Authenticator; lifetime_seconds?: number }

/** `GET /v1/responses` as a WebSocket: each message of the client asks for one response. Without an upgrade it is 405. */
export function responseSocket(deps: ResponseSocketDeps): Endpoint {
  const { lifetime_seconds = LIFETIME_SECONDS } = deps
  const openMemory = openSocketMemories()
  return endpoint({
    method: 'GET',
    path: '/v1/responses',
    auth: 'api_key_or_session',
    summary: 'Open a WebSocket of responses',
    upgrade: 'websocket',
    errors: ['invalid_request_error', 'csrf_failed', 'method_not_allowed'],
    async handle(ctx, { principal, request, reply }) {
      if (principal.via === 'session' && deps.sockets.isHandshake(request.raw)) requireOwnPage(request)
      const { authorization, cookie } = request.headers
      const opened = deps.sockets.accept({
        request,
        reply,
        owner: principal.org_id,
        serve(connection) {
          const memory = openMemory()
          connection.signal.addEventListener('abort', () => memory.clear())
          return serveTurns({ ctx, deps, connection, memory, credential: { authorization, cookie } }, lifetime_seconds)
        },
      })
      if (!opened) throw notWithoutUpgrade()
      return opened
    },
  })
}

function notWithoutUpgrade(): ApiError {
  return new ApiError('method_not_allowed', 'GET is not allowed here without a WebSocket handshake. Allowed: POST.', {
    headers: { allow: 'POST' },
  })
}

/** A browser sends the cookie with the handshakes of every page it shows; only our own may use it. */
function requireOwnPage(request: FastifyRequest): void {
  requireSameOrigin(request)
  if (request.headers.origin !== undefined) return
  throw new ApiError('csrf_failed', 'This handshake does not say which page it came from. Use an API key.')
}
