import type { Context, LiveContext } from '../../context.ts'
import type { Authenticator, Principal } from '../../identity/caller/principal.ts'
import { countAgainstRateLimit } from '../../identity/caller/rate-limit.ts'
import { ApiError } from '../../platform/errors.ts'
import { answersOf, type Lease, leaseUntilLeft } from '../../platform/http/body/byte-budget.ts'
import { apiErrorOf } from '../../platform/http/server.ts'
import { countRefusal } from '../../platform/http/telemetry/metrics.ts'
import type { WebSocketConnection } from '../../platform/http/websocket.ts'
import type { ResponseDeps } from '../call.ts'
import { keptBeside, outputOf } from '../context/load.ts'
import type { ResponseEvent } from '../events/event.ts'
import { checkResponseBody } from '../request/check/body.ts'
import { type ResponseRun, startRun } from '../run.ts'
import { type ContextCache, contextBytes } from './context-cache.ts'
import { errorEvent, eventText, type RunMessage, readSocketMessage, streamIdOf } from './messages.ts'

/** What the runs of one connection share. */
export type SocketRuns = {
  live: Pick<LiveContext, 'use'>
  deps: ResponseDeps & { who: Authenticator }
  connection: WebSocketConnection
  cache: ContextCache
  /** The credential of the handshake, checked again at each run: once a key is revoked it starts no further run. */
  credential: { authorization: string | undefined; cookie: string | undefined }
}

/** One message of a client; `text` is null for a binary one, and once it has been parsed. `lease` holds its bytes. */
export type ReceivedMessage = { text: Buffer | null; lease: Lease }

/** A run under way: `cancel` ends it. `response_id` is that of its response, once it has one. */
export type ActiveRun = { cancel: AbortController; response_id: string | null }

/** One run, with the settings of its beginning. */
type ServedRun = SocketRuns & { ctx: Context; active: ActiveRun }

/**
 * Runs the response that a message requests to its one terminal message, or until the client disconnects; what it produced is charged by then.
 * Rate limit and balance are checked before the message is parsed. `request_id` identifies the run in the log and in its usage. Returns the
 * error that also ends the connection, when its credential is no longer valid.
 */
export async function runOnSocket(
  runs: SocketRuns,
  request_id: string,
  received: ReceivedMessage,
  active: ActiveRun,
): Promise<ApiError | null> {
  const { ctx, end } = runs.live.use()
  try {
    return await runOne({ ...runs, ctx, active }, request_id, received)
  } finally {
    end()
  }
}

async function runOne(run: ServedRun, request_id: string, received: ReceivedMessage): Promise<ApiError | null> {
  const { ctx, deps, connection, cache, active } = run
  const since = performance.now()
  let principal: Principal | null = null
  let message: RunMessage | null = null
  let isParsed = false
  let status = 200
  let authError: ApiError | null = null
  try {
    principal = await callerOf(run)
    await countAgainstRateLimit(ctx, principal)
    await deps.meter.admit(principal.org_id)
    isParsed = true
    message = await readSocketMessage(received.text, { lease: received.lease, signal: connection.signal })
    received.text = null
    const failure = await answer(run, { request_id, principal, message, lease: received.lease })
    if (failure) status = failure.status
  } catch (error) {
    const isCancelled = active.cancel.signal.aborted && active.response_id === null
    const ended = connection.signal.aborted ? DISCONNECTED : isCancelled ? CANCELLED : null
    const known = ended ?? toApiError(ctx, request_id, error)
    status = known.status
    if (principal === null && status === 401) authError = known
    const { text } = received
    const isRead = isParsed || (text?.length ?? 0) <= UNPARSED_BYTES_MAX
    const smallText = isRead && !connection.signal.aborted ? text : null
    if (!isParsed) message = await readSocketMessage(smallText).catch(() => null)
    await connection.send(errorEvent(known, message ? message.stream_id : await streamIdOf(smallText)))
  }
  const previous_response_id = message?.body.previous_response_id
  const isFailed = status >= 400 && !active.cancel.signal.aborted
  if (isFailed && typeof previous_response_id === 'string') cache.delete(previous_response_id)
  logRun(ctx, { request_id, principal, response_id: active.response_id, status, since })
  return authError
}

/** Of a message refused before it is parsed, the `stream_id` is read only up to this size: parsing costs more than refusing. */
const UNPARSED_BYTES_MAX = 1024 * 1024

const DISCONNECTED = new ApiError('invalid_request_error', 'The connection ended before the turn did.')

const CANCELLED = new ApiError('invalid_request_error', 'The turn was cancelled before its response began.')

async function callerOf({ deps: { who }, credential }: SocketRuns): Promise<Principal> {
  const { authorization, cookie } = credential
  if (authorization !== undefined) return who.api_key(authorization)
  const principal = cookie === undefined ? null : await who.session({ cookie })
  if (principal) return principal
  throw new ApiError('missing_api_key', 'Your login has ended. Sign in to the console again.')
}

/** Sends the events of a response, and caches its context when it can be continued. Returns why it failed. */
async function answer(
  { ctx, deps, connection, cache, active }: ServedRun,
  {
    request_id,
    principal,
    message,
    lease,
  }: { request_id: string; principal: Principal; message: RunMessage; lease: Lease },
): Promise<ApiError | null> {
  const { signal } = connection
  const { stream_id } = message
  const owner = `${principal.org_id}/${principal.user_id}`
  const left = AbortSignal.any([signal, active.cancel.signal])
  const body = await checkResponseBody(message.body, { may_be_empty: !message.generate, left })
  const kept = leaseUntilLeft(ctx.budget, answersOf(principal.org_id), left)
  const call = {
    principal,
    request_id,
    body,
    lease,
    kept,
    generate: message.generate,
    error_event: false,
    cachedContext: (response_id: string) => cache.get(response_id, owner),
    cancelled: active.cancel.signal,
  }
  let run: ResponseRun | null = null
  try {
    run = await startRun(ctx, deps, call, left)
    active.response_id = run.response.id
    for (let batch: readonly ResponseEvent[] | null = run.first; batch && !signal.aborted; batch = await run.next()) {
      if (batch.length === 0) continue
      const full = connection.send(...batch.map((event) => eventText(event, stream_id)))
      if (full) await full
    }
  } finally {
    await run?.stop()
    kept.end()
  }
  const failure = run.failure()
  if (!signal.aborted && !failure) await cacheContext(cache, { owner, stream_id }, run)
  return failure
}

async function cacheContext(
  cache: ContextCache,
  { owner, stream_id }: { owner: string; stream_id: string | undefined },
  { history, input, response }: ResponseRun,
): Promise<void> {
  const { id: response_id, previous_response_id } = response
  const output = outputOf(response)
  const context = [...keptBeside(output, [...history, ...input]), ...output]
  const isWhole = context.length === history.length + input.length + output.length
  const known = previous_response_id === null || !isWhole ? 0 : cache.bytesOf(previous_response_id)
  const bytes =
    known > 0 ? known + (await contextBytes(input)) + (await contextBytes(output)) : await contextBytes(context)
  cache.set(stream_id, { response_id, owner, context, bytes })
}

function toApiError(ctx: Context, request_id: string, error: unknown): ApiError {
  const known = apiErrorOf(error)
  countRefusal(ctx.metrics, known)
  if (known.status >= 500) ctx.log.error('turn_failed', { request_id, code: known.code, error: known.cause ?? known })
  return known
}

/** Each run is a request in the access log. */
function logRun(
  ctx: Context,
  run: { request_id: string; principal: Principal | null; response_id: string | null; status: number; since: number },
): void {
  const { request_id, principal, response_id, status, since } = run
  ctx.log.info('request', {
    request_id,
    method: 'MESSAGE',
    route: 'response.create',
    status,
    duration_ms: Math.round((performance.now() - since) * 10) / 10,
    org_id: principal?.org_id,
    user_id: principal?.user_id,
    key_id: principal?.key_id ?? undefined,
    response_id: response_id ?? undefined,
  })
}
