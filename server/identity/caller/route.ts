import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema, TUnknown } from 'typebox'
import type { Context, LiveContext } from '../../context.ts'
import { ApiError, type ErrorCode } from '../../platform/errors.ts'
import { leaseUntilClosed } from '../../platform/http/body/byte-budget.ts'
import { OPEN_BODY_BYTES_MAX } from '../../platform/http/body/parsers.ts'
import { addressOf, networkOf } from '../../platform/http/client-address.ts'
import { type RouteConfig, withForms } from '../../platform/http/server.ts'
import { parseQuery } from '../../platform/schema/query.ts'
import { shape, type TextRepair } from '../../platform/schema/validate.ts'
import { beginInTurn, takingTurnsAs } from '../../platform/turns.ts'
import { requireSameOrigin } from './csrf.ts'
import type { Authenticator, Principal } from './principal.ts'
import { countAgainstRateLimit, hasLimits } from './rate-limit.ts'
import { requireSomeBody, requireStorablePath } from './readable-request.ts'

/** `signed_url` and `none` know no caller; the handler of the first checks the signature itself. */
export type Auth = 'none' | 'signed_url' | 'api_key' | 'session' | 'api_key_or_session'
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What one call gives its handler. `query` is parsed and checked; so is `body`, unless `body_check` is `handler`. */
export type RouteCall<A extends Auth, B, Q> = {
  principal: A extends 'none' | 'signed_url' ? null : Principal
  body: B
  query: Q
  params: Record<string, string>
  request: FastifyRequest
  reply: FastifyReply
}

/** Headers that some routes send on success, beside those that follow from their credential and kind of answer. */
export type RouteHeader =
  | 'cache-control'
  | 'content-disposition'
  | 'idempotent-replayed'
  | 'openai-poll-after-ms'
  | 'referrer-policy'
  | 'set-cookie'
  | 'x-content-type-options'
  | 'x-dropped-items'
  | 'x-dropped-tools'

export type RouteSpec<A extends Auth, B extends TSchema, Q extends TSchema> = {
  method: Method
  /** With `:name` for each parameter. */
  path: string
  /** No default: every route declares who may call it. */
  auth: A
  /** Counted against the plan's limit of requests, although only the console calls it: it does what a route of the API does. */
  counted?: boolean
  /** First line in the API page. */
  summary: string
  /** For the API page: what the summary leaves open. */
  description?: string
  body?: B
  /** For the API page, where JSON and a form are accepted: what the form has. */
  form?: string
  /** `handler`: the contract orders other checks before the body's shape, so the handler calls its own `shape`. Default `first`. */
  body_check?: 'first' | 'handler'
  /** How text that cannot be stored is repaired in the body. Default: it is refused. */
  text_repair?: TextRepair
  /** Encodings of the body; empty when the route takes none. Default `json` with a body schema, else none. */
  accepts?: ReadonlyArray<'json' | 'multipart'>
  query?: Q
  /** `handler`: other checks come before those of the query, which is text as it was sent. Default `first`. */
  query_check?: 'first' | 'handler'
  /** Shape of the 200 answer; absent for raw bytes. */
  response?: TSchema
  /** Media type of the 200 answer when it is not JSON. */
  response_type?: string
  /** For the API page: those of bytes that the same call sends when asked to. */
  other_response_types?: readonly string[]
  /** Shape of the JSON in each event, where the same call can be answered with server-sent events. The last has `[DONE]` instead. */
  events?: TSchema
  /** The answer is an upgrade of the connection. */
  upgrade?: 'websocket'
  /** The answer is 302: a stop of a browser on its way. */
  redirects?: boolean
  /** The answer has an entity tag, and is 304 where `If-None-Match` names it. */
  conditional?: boolean
  /** Honors `Idempotency-Key`. */
  idempotent?: boolean
  /** For the API page: headers of a successful answer. */
  headers?: Partial<Record<RouteHeader, 'always' | 'sometimes'>>
  /** For the API page: those of `headers` that an error has too when it comes after they were set. */
  error_headers?: readonly RouteHeader[]
  /**
   * For the API page: codes of errors beside those that follow from the credential, body, query, path and kind of answer, and from
   * `idempotent`. See `errorStatuses` of `api-docs/openapi/errors.ts`.
   */
  errors?: readonly ErrorCode[]
  /** For the API page: the least JSON body that does something, with the models of a service without a `kinora.yaml`. */
  example?: Static<B>
  /** Video routes give every 400 the code `invalid_request_error`. */
  plain_400?: boolean
  /** Not part of the public API page. */
  internal?: boolean
  /** The error for a wrong method on this path when it is not 405. */
  wrong_method?: (method: string, params: Record<string, string>) => ApiError | null
  /** Returns the JSON answer, or the reply after sending it itself. */
  handle(ctx: Context, call: RouteCall<A, Static<B>, Static<Q>>): Promise<unknown>
}

/** A route of any shape, as `routes.ts` of each folder lists them. */
export type Route = RouteSpec<Auth, TSchema, TSchema>

/** Declares one route. Every route of the service passes through here. */
export function route<A extends Auth, B extends TSchema = TUnknown, Q extends TSchema = TUnknown>(
  spec: RouteSpec<A, B, Q>,
): Route {
  return spec as unknown as Route
}

/** Adds the routes to the server, and for every path the answer `405` to methods it does not have. */
export function registerRoutes(
  http: FastifyInstance,
  ctx: LiveContext,
  list: readonly Route[],
  who: Authenticator,
): void {
  http.decorateRequest('ctx', null)
  const admit = admission(who)
  const methods = new Map<string, Route[]>()
  for (const spec of list) {
    methods.set(spec.path, [...(methods.get(spec.path) ?? []), spec])
    if (!spec.accepts?.includes('multipart')) addRoute(http, ctx, spec, admit)
  }
  withForms(http, (forms) => {
    for (const spec of list) if (spec.accepts?.includes('multipart')) addRoute(forms, ctx, spec, admit)
  })
  for (const [path, specs] of methods) addWrongMethods(http, path, { ctx, specs, admit })
}

/** Answers at once for a caller in memory. */
type Admit = (
  ctx: Context,
  spec: Route,
  request: FastifyRequest,
  reply: FastifyReply,
) => Principal | null | Promise<Principal | null>

/**
 * Finds the caller, then counts the request against the plan's limit, whose state every later answer carries. What only the console calls is
 * not counted unless it says so: a program that spends the allowance must not keep its owner from revoking its key.
 */
function admission(who: Authenticator): Admit {
  const find: Admit = async (ctx, spec, request, reply) => {
    const principal = await takingTurnsAs(networkOf(addressOf(request)), () => authenticate(spec, request, who))
    // Shared caches leave what `Authorization` asked for alone, but not what a cookie did. A handler may allow more.
    if (principal?.via === 'session') reply.header('cache-control', 'private, no-store')
    if (principal !== null && isCounted(spec) && hasLimits(ctx.config))
      reply.headers((await takingTurnsAs(principal.org_id, () => countAgainstRateLimit(ctx, principal))) ?? {})
    return principal
  }
  return (ctx, spec, request, reply) => {
    const { authorization } = request.headers
    const keyTaken = authorization !== undefined && (spec.auth === 'api_key' || spec.auth === 'api_key_or_session')
    const known = keyTaken && !hasLimits(ctx.config) ? who.recall(authorization) : null
    return known === null ? find(ctx, spec, request, reply) : noteCaller(request, known)
  }
}

/** Whether the requests of known callers count against the limit of their plan. */
export function isCounted({ auth, counted = false }: { auth: Auth; counted?: boolean }): boolean {
  return auth === 'api_key' || auth === 'api_key_or_session' || counted
}

function addRoute(http: FastifyInstance, live: LiveContext, spec: Route, admit: Admit): void {
  const accepts = new Set(spec.accepts ?? (spec.body ? (['json'] as const) : []))
  const checkBody = spec.body && spec.body_check !== 'handler' ? shape(spec.body) : (body: unknown) => body
  const checkQuery = spec.query && spec.query_check !== 'handler' ? shape(spec.query) : (query: unknown) => query
  // What takes forms alone is an upload and may take long to arrive.
  const upload = accepts.has('multipart') && !accepts.has('json')
  const body_bytes_max = spec.auth === 'none' || spec.auth === 'signed_url' ? OPEN_BODY_BYTES_MAX : undefined
  const { plain_400, text_repair } = spec
  const config: RouteConfig = { plain_400, upload, accepts, body_bytes_max, text_repair }
  http.route({
    method: spec.method,
    url: spec.path,
    config: { kinora: config },
    onRequest: (request, reply, done) => {
      const enter = (principal: Principal | null) => {
        request.principal = principal
        if (principal && accepts.size > 0) request.lease = leaseUntilClosed(ctx.budget, principal.org_id, reply)
        requireStorablePath(request)
        if (accepts.size > 0 && request.headers['content-type'] === undefined) requireSomeBody(request)
      }
      const { ctx, end } = live.use()
      request.ctx = ctx
      // The turns of a socket each have a context of their own.
      if (spec.upgrade) end()
      else reply.raw.once('close', end)
      const principal = admit(ctx, spec, request, reply)
      if (principal instanceof Promise) return void principal.then(enter).then(() => done(), done)
      enter(principal)
      done()
    },
    handler: async (request, reply) => {
      const ctx = request.ctx!
      const call = {
        principal: request.principal as never,
        query: checkQuery(spec.query ? parseQuery(spec.query, request.query) : {}) as never,
        body: checkBody(request.body) as never,
        params: request.params as Record<string, string>,
        request,
        reply,
      }
      const { tracing } = ctx
      const { principal, span } = request
      const owner = principal ? principal.org_id : networkOf(addressOf(request))
      const turn = beginInTurn(owner)
      if (turn) await turn
      const handle = () => takingTurnsAs(owner, () => spec.handle(ctx, call))
      return tracing && span ? tracing.within(span.context, handle) : handle()
    },
  })
}

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null
    /** The context of this request from its beginning to its end. */
    ctx: Context | null
  }
}

async function authenticate(spec: Route, request: FastifyRequest, who: Authenticator): Promise<Principal | null> {
  if (spec.auth === 'none' || spec.auth === 'signed_url') return null
  return noteCaller(request, await findPrincipal(spec, request, who))
}

function noteCaller(request: FastifyRequest, principal: Principal): Principal {
  request.caller = { org_id: principal.org_id, user_id: principal.user_id, key_id: principal.key_id }
  return principal
}

/** A request that carries `Authorization` is an API-key request even if a cookie is also present. */
async function findPrincipal(spec: Route, request: FastifyRequest, who: Authenticator): Promise<Principal> {
  const { authorization, cookie } = request.headers
  if (authorization !== undefined) {
    const principal = await who.api_key(authorization)
    if (spec.auth === 'session') {
      throw new ApiError(
        'console_login_required',
        'This needs a console login; an API key cannot do it. Sign in to the console.',
      )
    }
    return principal
  }
  if (spec.auth !== 'api_key' && cookie !== undefined) {
    const principal = await who.session({ cookie })
    if (principal) {
      if (request.method !== 'GET' && request.method !== 'HEAD') requireSameOrigin(request)
      return principal
    }
  }
  throw noCredential(spec, cookie !== undefined && spec.auth !== 'api_key' && who.hasSession({ cookie }))
}

function noCredential({ auth }: Route, ended: boolean): ApiError {
  if (ended) return new ApiError('missing_api_key', 'Your session has ended. Sign in to the console again.')
  const remedy =
    auth === 'session' ? 'Sign in to the console.' : "Send your API key in an 'Authorization: Bearer' header."
  return new ApiError('missing_api_key', `No credential was given. ${remedy}`)
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']

function addWrongMethods(
  http: FastifyInstance,
  path: string,
  { ctx, specs, admit }: { ctx: Context; specs: Route[]; admit: Admit },
): void {
  const allowed = new Set<string>(specs.map((spec) => spec.method))
  if (allowed.has('GET')) allowed.add('HEAD')
  const others = METHODS.filter((method) => !allowed.has(method))
  const spec = specs[0]!
  http.route({
    method: others as Method[],
    url: path,
    config: { kinora: { accepts: new Set<string>(), plain_400: spec.plain_400 } },
    onRequest: async (request, reply) => {
      await admit(ctx, spec, request, reply)
      const wrong = specs.find((candidate) => candidate.wrong_method)?.wrong_method
      const other = wrong?.(request.method, request.params as Record<string, string>)
      if (other) throw other
      const allow = [...allowed].join(', ')
      throw new ApiError('method_not_allowed', `${request.method} is not allowed here. Allowed: ${allow}.`, {
        headers: { allow },
      })
    },
    handler: async () => undefined,
  })
}
