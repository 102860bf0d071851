import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../platform/errors.ts'

/**
 * A state-changing request that relies on the cookie must come from our own pages.
 * Throws ApiError `csrf_failed` unless `Sec-Fetch-Site`, when sent, is `same-origin` and `Origin`, when sent, is the service itself.
 */
export function requireSameOrigin(request: FastifyRequest): void {
  const site = request.headers['sec-fetch-site']
  const { origin } = request.headers
  const foreign =
    (site !== undefined && site !== 'same-origin') || (origin !== undefined && !isOwnOrigin(origin, request))
  if (foreign)
    throw new ApiError(
      'csrf_failed',
      'This request did not come from the console itself. Use the console, or an API key.',
    )
}

/** Our own origin is the host the browser addressed, or the configured public one behind a proxy that rewrites `Host`. */
function isOwnOrigin(origin: string, request: FastifyRequest): boolean {
  if (origin === request.server.publicOrigin()) return true
  return URL.canParse(origin) && new URL(origin).host === request.headers.host
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Origin of the configured public URL; known once the server listens. */
    publicOrigin(): string
  }
}
