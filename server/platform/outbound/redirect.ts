import type { Dispatcher } from 'undici'
import { discard, exchange, type OutboundLimits, type OutboundReply, type OutboundRequest } from './exchange.ts'

/** The redirects that one call follows, as curl and browsers follow more and proxies need fewer. */
export const HOPS_MAX = 5

/** Where a reply redirects to, as the server wrote it; null when it does not. */
export function locationOf({ status, headers }: Pick<OutboundReply, 'status' | 'headers'>): string | null {
  return REDIRECTS.has(status) && typeof headers.location === 'string' ? headers.location : null
}

/**
 * An exchange whose redirects are followed on the same origin, up to five: 307 and 308 with the method and the body again, 301 and 302 of a
 * GET, 303 as a GET. Any other redirect is the reply. Throws OutboundError only.
 */
export async function exchangeOnOrigin(
  dispatcher: Dispatcher,
  origin: string,
  request: OutboundRequest,
  limits: Omit<OutboundLimits, 'onEnd'>,
): Promise<OutboundReply> {
  const ends = performance.now() + limits.timeout_ms
  let current = request
  for (let hops = 0; ; hops++) {
    const timeout_ms = Math.max(1, ends - performance.now())
    const reply = await exchange(dispatcher, current, { ...limits, timeout_ms })
    const next = hops < HOPS_MAX ? redirected(origin, current, reply) : null
    if (next === null) return reply
    await discard(reply)
    current = next
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

function redirected(origin: string, request: OutboundRequest, reply: OutboundReply): OutboundRequest | null {
  const location = locationOf(reply)
  const from = origin + request.path
  if (location === null || !URL.canParse(location, from)) return null
  const url = new URL(location, from)
  if (url.origin !== origin) return null
  const path = url.pathname + url.search
  if (reply.status === 307 || reply.status === 308 || request.method === 'GET') return { ...request, path }
  if (reply.status !== 303) return null
  const { 'content-type': _, ...headers } = request.headers
  return { method: 'GET', path, headers }
}
