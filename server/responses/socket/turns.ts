import type { Context } from '../../context.ts'
import type { Authenticator, Principal } from '../../identity/caller/principal.ts'
import { countRequest } from '../../identity/caller/rate-limit.ts'
import { ApiError } from '../../platform/errors.ts'
import { apiErrorOf } from '../../platform/http/server.ts'
import type { Connection } from '../../platform/http/websocket.ts'
import { jsonBytes } from '../../platform/json/write.ts'
import type { ResponseDeps, ResponseEvent, ResponseRun } from '../call.ts'
import { checkBody } from '../request/check.ts'
import { startResponse } from '../turn.ts'
import type { SocketMemory } from './memory.ts'
import { errorEvent, eventText, readMessage, streamIdOf, type WantedTurn } from './messages.ts'

/** What the turns of one connection share. */
export type SocketTurns = {
  ctx: Context
  deps: ResponseDeps & { who: Authenticator }
  connection: Connection
  memory: SocketMemory
  /** What the handshake carried. Asked again at each turn: a revoked key ends with the turn under way. */
  credential: { authorization: string | undefined; cookie: string | undefined }
}

/**
 * Runs the turn that a message asks for to its one terminal message, or until the client leaves; by then what it produced is charged. The
 * message is counted and the balance looked at before it is read. `request_id` names the turn in the log beside the handshake, and in the
 * usage it is charged for. Returns the error that ends the connection too, when its caller is no longer known.
 */
export async function runTurn(turns: SocketTurns, request_id: string, text: Buffer | null): Promise<ApiError | null> {
  const { ctx, deps, connection, memory } = turns
  const since = performance.now()
  let principal: Principal | null = null
  let wanted: WantedTurn | null = null
  let isRead = false
  let status = 200
  let stranger: ApiError | null = null
  try {
    principal = await callerOf(turns)
    await countRequest(ctx, principal)
    await deps.meter.admit(principal.org_id)
    isRead = true
    wanted = await readMessage(text)
    const failure = await answer(turns, { request_id, principal, wanted })
    if (failure) status = failure.status
  } catch (error) {
    const known = connection.signal.aborted ? LEFT : explained(ctx, request_id, error)
    status = known.status
    if (principal === null && status === 401) stranger = known
    const readable = isRead || (text?.length ?? 0) <= UNREAD_BYTES_MAX ? text : null
    if (!isRead) wanted = await readMessage(readable).catch(() => null)
    await connection.send(errorEvent(known, wanted ? wanted.stream_id : await streamIdOf(readable)))
  }
  const previous_response_id = wanted?.body.previous_response_id
  if (status >= 400 && typeof previous_response_id === 'string') memory.forget(previous_response_id)
  logTurn(ctx, { request_id, principal, status, since })
  return stranger
}

/** A message that is refused for its sender is read for its `stream_id` up to this size: reading costs more than refusing. */
const UNREAD_BYTES_MAX = 1024 * 1024

const LEFT = new ApiError('invalid_request_error', 'The connection ended before the turn did.')

async function callerOf({ deps: { who }, credential }: SocketTurns): Promise<Principal> {
  const { authorization, cookie } = credential
  if (authorization !== undefined) return who.api_key(authorization)
  const principal = cookie === undefined ? null : await who.session({ cookie })
  if (principal) return principal
  throw new ApiError('missing_api_key', 'Your login has ended. Sign in to the console again.')
}

/** Sends the events of a response, and remembers it when it can be continued from. Returns why it failed. */
async function answer(
  { ctx, deps, connection, memory }: SocketTurns,
  { request_id, principal, wanted }: { request_id: string; principal: Principal; wanted: WantedTurn },
): Promise<ApiError | null> {
  const { signal } = connection
  const { stream_id } = wanted
  const owner = `${principal.org_id}/${principal.user_id}`
  const body = checkBody(wanted.body, { may_be_empty: !wanted.generate })
  const call = {
    ...{ principal, request_id, body, generate: wanted.generate, error_event: false },
    recall: (response_id: string) => memory.recall(response_id, owner),
  }
  const run = await startResponse(ctx, deps, call, signal)
  try {
    for (let batch: readonly ResponseEvent[] | null = run.first; batch && !signal.aborted; batch = await run.next()) {
      if (batch.length === 0) continue
      const full = connection.send(...batch.map((event) => eventText(event, stream_id)))
      if (full) await full
    }
  } finally {
    await run.stop()
  }
  const failure = run.failure()
  if (!signal.aborted && !failure) await remember(memory, { owner, stream_id }, run)
  return failure
}

async function remember(
  memory: SocketMemory,
  { owner, stream_id }: { owner: string; stream_id: string | undefined },
  { history, input, response }: ResponseRun,
): Promise<void> {
  const { id: response_id, output, previous_response_id } = response
  const known = previous_response_id === null ? 0 : memory.bytesOf(previous_response_id)
  const before = known > 0 ? known : await jsonBytes(history)
  const bytes = before + (await jsonBytes(input)) + (await jsonBytes(output))
  memory.remember(stream_id, { response_id, owner, context: [...history, ...input, ...output], bytes })
}

function explained(ctx: Context, request_id: string, error: unknown): ApiError {
  const known = apiErrorOf(error)
  if (known.status >= 500) ctx.log.error('turn_failed', { request_id, code: known.code, error: known.cause ?? known })
  return known
}

/** A turn is a request of its own in the access log. */
function logTurn(
  ctx: Context,
  turn: { request_id: string; principal: Principal | null; status: number; since: number },
): void {
  const { request_id, principal, status, since } = turn
  ctx.log.info('request', {
    request_id,
    method: 'MESSAGE',
    route: 'response.create',
    status,
    duration_ms: Math.round((performance.now() - since) * 10) / 10,
    org_id: principal?.org_id,
    user_id: principal?.user_id,
    key_id: principal?.key_id ?? undefined,
  })
}
