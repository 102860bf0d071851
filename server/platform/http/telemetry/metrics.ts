import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ApiError, type ErrorCode, OVERLOADS } from '../../errors.ts'
import { CALL_BUCKETS, type Counter, declareMetrics, type Histogram, type Metrics } from '../../metrics/metrics.ts'

/** Routes are reported as templates, such as `/v1/videos/:video_id`; a path without a route is `unknown`. */
export const httpMetrics = declareMetrics((metrics) => ({
  requests: metrics.counter({
    name: 'kinora_http_requests_total',
    help: 'Requests that were answered, by the class of their status.',
    labels: ['method', 'route', 'status'],
  }),
  seconds: metrics.histogram({
    name: 'kinora_http_request_duration_seconds',
    help: 'Time from the headers of a request to the last byte of its answer, streams included.',
    labels: ['method', 'route'],
    buckets: [...CALL_BUCKETS, 300, 900],
  }),
  first_byte: metrics.histogram({
    name: 'kinora_http_stream_first_byte_seconds',
    help: 'Time from the headers of a request to the first byte of its stream of events.',
    labels: ['route'],
    buckets: CALL_BUCKETS,
  }),
  errors: metrics.counter({
    name: 'kinora_http_errors_total',
    help: 'Requests answered with an error, by its code. Refused admissions are among them.',
    labels: ['route', 'code'],
  }),
  refusals: refusalCounter(metrics),
}))

/** Limits of organizations. With those of the service, every reason for which a request that is right may be refused. */
const LIMITS: readonly ErrorCode[] = [
  ...(['insufficient_credits', 'storage_limit_exceeded', 'concurrency_limit_exceeded'] as const),
  ...(['rate_limit_exceeded', 'too_many_requests'] as const),
]

function refusalCounter(metrics: Metrics) {
  const refusals = metrics.counter({
    name: 'kinora_refused_requests_total',
    help: 'Requests and turns of sockets that were refused for lack of credit or capacity, by what was lacking.',
    labels: ['reason'],
  })
  for (const reason of [...LIMITS, ...OVERLOADS]) refusals.of(reason)
  return refusals
}

/** The cells of one route and method. `statuses`: by class, from 1xx on. */
type RouteCells = { seconds: Histogram; statuses: Array<Counter | undefined> }

type Route = FastifyRequest['routeOptions']

/** Counts an answer that has been sent. On the way of every request: it makes no object and no label. */
export type CountAnswer = (request: FastifyRequest, reply: FastifyReply, route: Route) => void

export function answerCounter(metrics: Metrics): CountAnswer {
  const { requests, seconds } = httpMetrics(metrics)
  // Fastify makes one `config` for each route, whatever its methods.
  const cells = new WeakMap<object, Map<string, RouteCells>>()
  const makeCells = (method: string, { config, url }: Route): RouteCells => {
    const made: RouteCells = { seconds: seconds.of(methodOf(method), url ?? UNKNOWN), statuses: [] }
    // Reported as 0 before the first one, without which Prometheus sees no increase.
    made.statuses[5] = requests.of(methodOf(method), url ?? UNKNOWN, '5xx')
    const methods = cells.get(config) ?? new Map<string, RouteCells>()
    cells.set(config, methods.set(method, made))
    return made
  }
  return ({ method }, reply, route) => {
    const found = cells.get(route.config)?.get(method) ?? makeCells(method, route)
    const status = Math.floor(reply.statusCode / 100)
    found.statuses[status] ??= requests.of(methodOf(method), route.url ?? UNKNOWN, `${status}xx`)
    found.statuses[status].add(1)
    found.seconds.observe(reply.elapsedTime / 1000)
  }
}

/** Call it when the headers of a stream have been sent. */
export function recordFirstByte(metrics: Metrics, request: FastifyRequest, reply: FastifyReply): void {
  httpMetrics(metrics)
    .first_byte.of(routeOf(request))
    .observe(reply.elapsedTime / 1000)
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Called with each error that an organization gets. */
    onRefused?: ((org_id: string, code: string) => void) | undefined
  }
}

export function countError(metrics: Metrics, request: FastifyRequest, error: ApiError): void {
  if (request.caller) request.server.onRefused?.(request.caller.org_id, error.code)
  httpMetrics(metrics).errors.of(routeOf(request), error.code).add(1)
  countRefusal(metrics, error)
}

/** Counts an error that refuses a request which is right; no other. */
export function countRefusal(metrics: Metrics, { code, overload }: ApiError): void {
  const reason = overload ?? (LIMITS.includes(code) ? code : null)
  if (reason !== null) httpMetrics(metrics).refusals.of(reason).add(1)
}

const UNKNOWN = 'unknown'

function routeOf(request: FastifyRequest): string {
  return request.routeOptions?.url ?? UNKNOWN
}

/** Node accepts some thirty more, which no route has. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

function methodOf(method: string): string {
  return METHODS.has(method) ? method : 'other'
}
