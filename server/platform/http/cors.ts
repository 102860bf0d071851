import type { FastifyReply, FastifyRequest } from 'fastify'

/** Origins whose pages may call the API from a browser, each exactly as a browser sends it. */
export type CorsOptions = { origins: () => readonly string[] }

/** Headers of answers that a page may read, beside those that every browser shows: the OpenAPI document describes them. */
const EXPOSED = [
  'allow',
  'content-disposition',
  'content-range',
  'etag',
  'idempotent-replayed',
  'openai-poll-after-ms',
  'retry-after',
  'retry-after-ms',
  'www-authenticate',
  'x-dropped-items',
  'x-dropped-tools',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-request-id',
  'x-should-retry',
].join(', ')

/** How long a browser need not ask again, in seconds: the most that Chromium keeps. */
const MAX_AGE = '7200'

/** What a page sends when it names no header itself. */
const USUAL = 'authorization, content-type, idempotency-key'

/**
 * Sets the headers by which a browser lets a page of a listed origin read answers of the API, errors included. Returns `preflight` for a
 * request that is answered by them alone, without a credential. No answer allows credentials: a page calls with an API key, never with a cookie.
 * Source: https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export function corsHeaders(
  options: CorsOptions | undefined,
): (request: FastifyRequest, reply: FastifyReply) => 'preflight' | undefined {
  return ({ headers, method, url }, reply) => {
    const origins = options?.origins() ?? []
    if (origins.length === 0 || !API.test(url)) return undefined
    reply.header('vary', 'Origin')
    const { origin } = headers
    if (origin === undefined || !origins.includes(origin)) return undefined
    reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED })
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return undefined
    reply.headers({
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': headers['access-control-request-headers'] ?? USUAL,
      'access-control-max-age': MAX_AGE,
    })
    return 'preflight'
  }
}

const API = /^\/+v1\//
