import { startTurn, type Turn } from '../chat/turn.ts'
import type { Context } from '../context.ts'
import type { ChatEvent, TokenUsage } from '../engines/chat/contract.ts'
import { isDatabaseDown } from '../platform/db/db.ts'
import { ApiError } from '../platform/errors.ts'
import { apiErrorOf } from '../platform/http/server.ts'
import type { ResponseCall, ResponseDeps, ResponseEvent, ResponseRun } from './call.ts'
import { seal } from './context/seal.ts'
import { type ResponseWriter, responseWriter } from './events/writer.ts'
import { newResponse } from './request/new-response.ts'
import { type PreparedCall, prepareCall } from './request/prepare.ts'
import type { ResponseObject } from './schema/response.ts'
import { keepResponse } from './stored/stored.ts'

/**
 * Answers a request: everything is checked, then the model is asked, and the run has its first batch in hand, so that a refusal is
 * still an HTTP error: ApiError is thrown. With `queued` nothing is thrown but what `keep` throws: the run begins at once with
 * `in_progress`, and its events tell whatever goes wrong. `left` ends the work when nobody wants it any more.
 */
export async function startResponse(
  ctx: Context,
  deps: ResponseDeps,
  call: ResponseCall,
  left: AbortSignal,
): Promise<ResponseRun> {
  const answer: Answer = { ctx, deps, call, left, failure: null }
  if (call.queued) return runOf(answer, { response: call.queued, prepared: null }, resume(answer, call.queued))
  const prepared = await prepareCall(ctx, deps, call, left)
  const turn = await askModel(answer, prepared)
  const response = newResponse(ctx, call.body, prepared)
  return runOf(answer, { response, prepared }, begin(answer, prepared, { response, turn }))
}

/** One request on its way to its answer. */
type Answer = {
  ctx: Context
  deps: ResponseDeps
  call: ResponseCall
  left: AbortSignal
  /** Why the response is `failed`. */
  failure: ApiError | null
}

type Events = AsyncGenerator<readonly ResponseEvent[], void, void>

async function runOf(
  answer: Answer,
  { response, prepared }: { response: ResponseObject; prepared: PreparedCall | null },
  events: Events,
): Promise<ResponseRun> {
  const { value } = await events.next()
  return {
    response,
    input: prepared?.input ?? [],
    history: prepared?.history ?? [],
    dropped_tools: prepared?.tools.dropped ?? [],
    first: value ?? [],
    failure: () => answer.failure,
    async next() {
      const { value } = await events.next()
      return value ?? null
    },
    async stop() {
      await events.return()
    },
  }
}

/** Null for a call that asks for no answer. */
async function askModel({ ctx, deps, call, left }: Answer, prepared: PreparedCall): Promise<Turn | null> {
  const { principal, request_id } = call
  const { model, engine, request, shorten } = prepared
  if (!request) return null
  try {
    return await startTurn(
      ctx,
      deps.meter,
      { principal, request_id, model, engine, request, ...(shorten && { shorten }) },
      left,
    )
  } catch (error) {
    throw ofInput(error)
  }
}

/** What chat calls messages is input here. */
function ofInput(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.param !== 'messages') return error
  return new ApiError(error.code, error.message.replaceAll('the messages', 'the input'), { param: 'input' })
}

async function* begin(
  answer: Answer,
  prepared: PreparedCall,
  { response, turn }: { response: ResponseObject; turn: Turn | null },
): Events {
  const writer = writerOf(answer, prepared, { response, sequence_number: 0 })
  const work = { writer, response, input: prepared.input }
  const created = writer.tell('response.created')
  if (turn)
    return yield* tellTurn(answer, work, { turn, opening: [...created, ...writer.tell('response.in_progress')] })
  yield created
  yield* close(answer, work, { usage: { input: 0, cached_input: 0, output: 0, reasoning: 0 }, finished: true })
}

/** Goes on with a stored response, whose `created` and `queued` were the events 0 and 1. */
async function* resume(answer: Answer, response: ResponseObject): Events {
  const { ctx, deps, call, left } = answer
  response.status = 'in_progress'
  yield writerOf(answer, null, { response, sequence_number: 2 }).tell('response.in_progress')
  let prepared: PreparedCall | null = null
  let turn: Turn | null = null
  let error: unknown
  try {
    prepared = await prepareCall(ctx, deps, call, left)
    turn = await askModel(answer, prepared)
  } catch (thrown) {
    error = thrown
  }
  const writer = writerOf(answer, prepared, { response, sequence_number: 3 })
  const work = { writer, response, input: prepared?.input ?? [] }
  if (turn) yield* tellTurn(answer, work, { turn, opening: [] })
  else yield* close(answer, work, { usage: null, finished: false, error })
}

/** A response and the one who writes it. */
type Work = { writer: ResponseWriter; response: ResponseObject; input: PreparedCall['input'] }

/** Tells a turn batch by batch, then its end. `opening` goes with the first batch. */
async function* tellTurn(
  answer: Answer,
  work: Work,
  { turn, opening }: { turn: Turn; opening: readonly ResponseEvent[] },
): Events {
  const { writer } = work
  let usage: TokenUsage | null = null
  let error: unknown
  try {
    let events = opening
    for (let batch: readonly ChatEvent[] | null = turn.first; batch; batch = await turn.next()) {
      const last = batch.at(-1)
      if (last?.type === 'end') usage = last.usage
      const more = writer.take(batch)
      events = events.length > 0 ? [...events, ...more] : more
      if (events.length > 0) yield events
      events = []
    }
  } catch (thrown) {
    error = ofInput(thrown)
  } finally {
    await turn.stop()
  }
  yield* close(answer, work, { usage, finished: writer.isFinished(), error })
}

/** Settles the response and keeps it, then tells its last event. */
async function* close(
  answer: Answer,
  work: Work,
  end: { usage: TokenUsage | null; finished: boolean; error?: unknown },
): Events {
  const { call, left } = answer
  const { writer } = work
  if (!end.finished && left.aborted) {
    if (!call.queued) return
    const closed = writer.cancel(end.usage)
    await keep(answer, work)
    return yield [...closed, ...writer.end()]
  }
  let { error } = end
  if (error === undefined && end.finished && end.usage) {
    writer.settle(end.usage)
    try {
      await keep(answer, work)
      return yield writer.end()
    } catch (thrown) {
      if (call.queued) throw thrown
      error = thrown
    }
  }
  // An outage of ours is no end of a stored response: it is run again.
  if (call.queued && isDatabaseDown(error)) throw error
  answer.failure = explained(answer, error)
  const events = writer.fail(answer.failure, { error_event: call.error_event ?? true })
  if (call.queued) await keep(answer, work)
  yield events
}

async function keep({ ctx, call }: Answer, ended: Work): Promise<void> {
  if (call.keep) await call.keep(ended)
  else if (ended.response.store) await keepResponse(ctx, call, ended)
}

function explained({ ctx, call }: Answer, error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (error === undefined) return new ApiError('upstream_error', 'The model failed to answer. Try again.')
  const told = apiErrorOf(error)
  ctx.log.error('response_failed', { request_id: call.request_id, code: told.code, error })
  return told
}

function writerOf(
  { ctx, call }: Answer,
  prepared: PreparedCall | null,
  { response, sequence_number }: { response: ResponseObject; sequence_number: number },
): ResponseWriter {
  const { org_id } = call.principal
  const sealed = call.body.include?.includes('reasoning.encrypted_content')
  return responseWriter(response, {
    tools: prepared?.tools.names ?? new Map(),
    showing: {
      summary: call.body.reasoning?.summary !== undefined,
      raw: prepared?.model.expose_raw_reasoning ?? false,
      seal: sealed ? (text) => seal(ctx.secret, { org_id, purpose: 'reasoning' }, text) : null,
    },
    clock: ctx.clock,
    sequence_number,
  })
}
