import { createServer, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'
import multipart from '@fastify/multipart'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { BlobsAway } from '../blobs/blobs.ts'
import { isDatabaseDown, outageOf } from '../db/db.ts'
import { ApiError, errorBody, errorHeaders, overloaded } from '../errors.ts'
import { newRequestId } from '../ids.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { TextRepair } from '../schema/validate.ts'
import type { Tracing } from '../tracing/tracing.ts'
import { endedEarly, isOfClient } from './abort-on-disconnect.ts'
import type { Lease } from './body/byte-budget.ts'
import { bodyTooLarge } from './body/coded.ts'
import {
  addBodyParsers,
  hasBody,
  JSON_BYTES_MAX,
  leaveBody,
  limitBodyTime,
  requirePlainTransfer,
  wrongContentType,
} from './body/parsers.ts'
import { addressOf, proxyTest } from './client-address.ts'
import { boundConnections, isEnding, limitNetworks, makeRoom } from './connections.ts'
import { type CorsOptions, corsHeaders } from './cors.ts'
import { suggestRoutes } from './suggest-route.ts'
import { answerCounter, countError } from './telemetry/metrics.ts'
import { endRequestSpan, startRequestSpan } from './telemetry/span.ts'
import type { Sockets } from './websocket.ts'

/** Time limit for receiving a whole request: 100 MB over slow lines need it. */
const REQUEST_SECONDS = 900
/** Time limit for receiving a body on a route without uploads, and for each pause of an upload. */
const BODY_SECONDS = 60
/** Longer than proxies keep idle connections by default (60 s: nginx, AWS): otherwise a request meets a connection that is just being closed. */
const KEEP_ALIVE_SECONDS = 75

/** Options of a route that this file reads. */
export type RouteConfig = {
  plain_400?: boolean
  /** Accepts an upload, which may take a long time to arrive. */
  upload?: boolean
  accepts: ReadonlySet<string>
  /** Default JSON_BYTES_MAX. */
  body_bytes_max?: number
  /** How text that cannot be stored is repaired in a JSON body. Default: it is refused. */
  text_repair?: TextRepair
  internal?: boolean
}

declare module 'fastify' {
  interface FastifyContextConfig {
    kinora?: RouteConfig
  }
  interface FastifyInstance {
    /** Time limit for receiving a body on a route without uploads, and for each pause of an upload. */
    bodySeconds: number
    /** Null: nothing is counted. */
    metrics: Metrics | null
  }
  interface FastifyRequest {
    /** What the request brings into memory; there once the caller is known, for routes that take a body. */
    lease: Lease | null
    /** For the access log; set once the caller is known. */
    caller?: { org_id: string; user_id: string; key_id: string | null }
    /** For the access log: what the request has created. */
    created?: { video_id: string } | { response_id: string }
  }
}

export type HttpOptions = {
  log: Log
  metrics?: Metrics
  tracing?: Tracing | null
  /** `unready`: requests are still answered, each on its last connection. `draining`: new ones are refused. */
  stop?: () => 'no' | 'unready' | 'draining'
  /** Addresses and networks of proxies whose `X-Forwarded-For` is trusted; none by default. */
  trusted_proxies?: readonly string[]
  /** Web pages of other origins that may call; none by default. Asked at each request. */
  cors?: CorsOptions
  /** Without them `Upgrade` headers are ignored. */
  sockets?: Sockets
  /** The text of a 404 for a path without a route, instead of the usual hint. */
  explainUnknown?: (path: string) => string | undefined
}

/** The HTTP server: strict parsing, request ids, the error envelope and the access log. Routes are added by the caller. */
export function openHttp(options: HttpOptions): FastifyInstance {
  const { log, sockets, metrics, tracing } = options
  const isProxy = proxyTest(options.trusted_proxies ?? [])
  const http = Fastify({
    logger: false,
    genReqId: newRequestId,
    requestIdHeader: false,
    trustProxy: isProxy ?? false,
    bodyLimit: JSON_BYTES_MAX,
    serverFactory: (handler) => openServer(handler, sockets),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, maxParamLength: 512 },
    frameworkErrors: (error, request, reply) => sendError(error, request, reply, log),
    clientErrorHandler: answerBrokenRequest,
  })
  limitNetworks(http.server, isProxy)
  sockets?.attach(http)
  http.decorate('bodySeconds', BODY_SECONDS)
  http.decorate('metrics', metrics ?? null)
  http.decorateRequest('span', null)
  http.decorateRequest('lease', null)
  const countAnswer = metrics && answerCounter(metrics)
  const cors = corsHeaders(options.cors)
  addBodyParsers(http)
  const unknownUrl = unknownUrlError(http, options.explainUnknown)
  http.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    if (tracing) startRequestSpan(tracing, request)
    const preflight = cors(request, reply) === 'preflight'
    const stop = options.stop?.() ?? 'no'
    if (stop === 'draining') throw overloaded('stopping', 'The service is shutting down. Try again shortly.')
    // A proxy that keeps connections would send its next request when this one is being closed.
    if (stop === 'unready') reply.header('connection', 'close')
    requirePlainTransfer(request)
    if (preflight) {
      leaveBody(request, reply)
      return void reply.status(204).send()
    }
    if (request.is404) throw unknownUrl(request)
    if (hasBody(request)) expectBody(request, reply)
    done()
  })
  http.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions
    logAnswer(log, request, reply, route.url)
    countAnswer?.(request, reply, route)
    if (tracing) endRequestSpan(request, reply)
    done()
  })
  http.setErrorHandler((error: FastifyError, request, reply) => sendError(error, request, reply, log))
  // For a route that calls the not-found handler; without a route the hook above answers before the body is read.
  http.setNotFoundHandler((request) => {
    throw unknownUrl(request)
  })
  return http
}

function openServer(handler: RequestListener, sockets: Sockets | undefined): Server {
  const server = createServer(
    {
      maxHeaderSize: 16_384,
      headersTimeout: 20_000,
      requestTimeout: REQUEST_SECONDS * 1000,
      keepAliveTimeout: KEEP_ALIVE_SECONDS * 1000,
      // Node would hand every request with an `Upgrade` to the listener, `h2c` of ordinary clients among them.
      shouldUpgradeCallback: (request) => sockets?.isHandshake(request) ?? false,
    },
    boundConnections(handler),
  )
  makeRoom(server)
  server.maxHeadersCount = 100
  return server
}

function unknownUrlError(
  http: FastifyInstance,
  explain: HttpOptions['explainUnknown'],
): (request: FastifyRequest) => ApiError {
  const suggest = suggestRoutes(http)
  return (request) => {
    const path = requestPath(request)
    const hint = explain?.(path) ?? `${suggest(path)} See /docs for the routes.`.trimStart()
    const text = `Unknown request URL: ${request.method} ${path}. ${hint}`
    return new ApiError('unknown_url', text)
  }
}

/** Sets the deadline of a body; a body that nobody reads does not keep its connection open. */
function expectBody(request: FastifyRequest, reply: FastifyReply): void {
  const { kinora } = request.routeOptions.config
  limitBodyTime(request, { upload: kinora?.upload ?? false })
  if (kinora?.accepts.size === 0) leaveBody(request, reply)
}

/** Adds routes that accept forms: the overhead of the form parser applies to these only. */
export function withForms(http: FastifyInstance, addRoutes: (routes: FastifyInstance) => void): void {
  http.register(async (routes) => {
    await routes.register(multipart)
    addRoutes(routes)
  })
}

/** The path of a request without its query string. */
export function requestPath(request: FastifyRequest): string {
  return request.url.split('?', 1)[0]!.slice(0, 200)
}

/** Answers any thrown error. One that is not an ApiError is a bug of the service: fixed text for the client, details in the log. */
function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): void {
  const answer = isOfClient(error, reply) ? endedEarly() : apiErrorOf(error)
  const { metrics } = reply.server
  if (metrics) countError(metrics, request, answer)
  if (answer.status >= 500 || answer.internal) {
    const level = answer.status >= 500 ? 'error' : 'info'
    log[level]('request_failed', {
      request_id: request.id,
      code: answer.code,
      detail: answer.internal,
      error: answer.cause ?? answer,
    })
  }
  if (reply.raw.headersSent) {
    reply.raw.destroy()
    return
  }
  leaveBody(request, reply)
  const plain_400 = request.routeOptions?.config?.kinora?.plain_400
  reply.header('x-request-id', request.id).headers(errorHeaders(answer)).status(answer.status)
  for (const header of ['content-length', 'content-disposition', 'etag', 'cache-control']) reply.removeHeader(header)
  reply.type('application/json; charset=utf-8').send(JSON.stringify(errorBody(answer, { plain_400 })))
}

const FRAMEWORK_ERRORS: Record<string, () => ApiError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => bodyTooLarge(JSON_BYTES_MAX),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => wrongContentType(new Set(['json'])),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new ApiError('invalid_request_error', 'Request body size did not match Content-Length.'),
  FST_ERR_BAD_URL: () => new ApiError('unknown_url', 'The request URL is not valid.'),
  FST_ERR_MAX_PARAM_LENGTH: () => new ApiError('unknown_url', 'The request URL is too long.'),
  FST_ERR_ASYNC_CONSTRAINT: () => new ApiError('unknown_url', 'The request URL is not valid.'),
}

/** For clients, while the bucket is away. */
const STORAGE_RETRY_SECONDS = 5

/** The public error for anything thrown. What cannot be mapped is a bug of the service. */
export function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const { code, statusCode } = error as { code?: string; statusCode?: number }
  const known = FRAMEWORK_ERRORS[code ?? '']
  if (known) return known()
  if (isDatabaseDown(error)) {
    const verb = outageOf(error) === 'unreachable' ? 'reach' : 'use'
    return overloaded('database', `The service cannot ${verb} its database. Try again shortly.`, {
      cause: error,
    })
  }
  if (error instanceof BlobsAway) {
    return overloaded('bucket', 'The service cannot reach its file storage. Try again shortly.', {
      retry_after_seconds: STORAGE_RETRY_SECONDS,
      cause: error,
    })
  }
  if (code === 'ERR_STREAM_PREMATURE_CLOSE') return endedEarly()
  if (statusCode && statusCode >= 400 && statusCode < 500) {
    return new ApiError('invalid_request_error', 'The request could not be read.', { internal: code, cause: error })
  }
  return new ApiError('server_error', 'Something went wrong on our side. Quote the request id when you report it.', {
    cause: error,
  })
}

/** For a request that Node could not parse, so that no route is known: answers with the error envelope and closes the connection. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  // Bytes after the last request of a closing connection are not a request.
  if (isEnding(socket)) return void socket.pause()
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const [line, problem] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [
          '431 Request Header Fields Too Large',
          new ApiError('invalid_request_error', 'The request headers are too large.'),
        ]
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', new ApiError('request_timeout', 'The request did not arrive in time.')]
        : ['400 Bad Request', error instanceof ApiError ? error : NO_HTTP]
  const body = JSON.stringify(errorBody(problem as ApiError))
  const head = `content-type: application/json; charset=utf-8\r\nx-request-id: ${newRequestId()}\r\ncontent-length: ${Buffer.byteLength(body)}`
  socket.end(`HTTP/1.1 ${line}\r\n${head}\r\nconnection: close\r\n\r\n${body}`)
}

const NO_HTTP = new ApiError('invalid_request_error', 'The request is not valid HTTP.')

/** Asked every second or two by every proxy and supervisor: half of a log would be theirs. */
const PROBES: ReadonlySet<string | undefined> = new Set(['/healthz', '/readyz'])

function logAnswer(log: Log, request: FastifyRequest, reply: FastifyReply, route: string | undefined): void {
  log[PROBES.has(route) && reply.statusCode === 200 ? 'debug' : 'info']('request', {
    request_id: request.id,
    method: request.method,
    route: route ?? 'unknown',
    status: reply.statusCode,
    duration_ms: Math.round(reply.elapsedTime * 10) / 10,
    address: addressOf(request),
    ...request.caller,
    key_id: request.caller?.key_id ?? undefined,
    ...request.created,
  })
}
