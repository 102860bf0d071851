import { type Exchange, startExchange } from '../chat/exchange.ts'
import type { Context } from '../context.ts'
import type { ChatEvent, TokenUsage } from '../engines/chat/contract.ts'
import { EngineError } from '../engines/engine-error.ts'
import { isDatabaseDown } from '../platform/db/db.ts'
import { ApiError } from '../platform/errors.ts'
import { apiErrorOf } from '../platform/http/server.ts'
import type { ResponseCall, ResponseDeps } from './call.ts'
import { type SealBinding, seal } from './context/seal.ts'
import type { ResponseEvent } from './events/event.ts'
import { type ResponseWriter, responseWriter } from './events/writer.ts'
import { newResponse, type PreparedCall, prepareCall } from './request/prepare.ts'
import type { Item } from './schema/items.ts'
import type { ResponseObject } from './schema/response.ts'
import { type ResponseRecord, saveResponse } from './stored/save.ts'

/**
 * A response that is being made, for HTTP, a socket or a background consumer. `response` is one object throughout, complete after the last
 * event. What the model produced is charged, also after `stop`.
 */
export type ResponseRun = ResponseRecord & {
  /** The items before `input`: with `input` and `response.output` they are the context of the next response. */
  history: readonly Item[]
  /** Types of tools that were not forwarded to the model, for `x-dropped-tools`. */
  dropped_tools: readonly string[]
  /** Types of items that the model was not sent, for `x-dropped-items`. */
  dropped_items: readonly string[]
  first: readonly ResponseEvent[]
  /** Why the response is `failed`: a plain answer throws it. */
  failure(): ApiError | null
  /**
   * More events; null after the last, which is `response.completed`, `.incomplete` or `.failed`. When the client has disconnected the
   * events just end, except those of a consumer or of a client that cancels, which end with the response `cancelled`.
   */
  next(): Promise<readonly ResponseEvent[] | null>
  /** Ends the run at any point and charges what was produced. No effect after the end; call it in every case. */
  stop(): Promise<void>
}

/**
 * Checks the request, asks the model and resolves with the first events, so that a refusal is still an HTTP error: ApiError is thrown.
 * With `queued` errors of `save` and of the database are thrown and, while nothing of the answer has come, those with a `whyLater`; any other
 * failure is an event. `left` aborts when the client
 * disconnects.
 */
export async function startRun(
  ctx: Context,
  deps: ResponseDeps,
  call: ResponseCall,
  left: AbortSignal,
): Promise<ResponseRun> {
  const run: Run = { ctx, deps, call, left, failure: null }
  if (call.queued) return openRun(run, { response: call.queued, prepared: null }, answerQueued(run, call.queued))
  const prepared = await prepareCall(ctx, deps, call, left)
  const exchange = await askModel(run, prepared)
  const response = newResponse(ctx, call.body, prepared)
  return openRun(run, { response, prepared }, answer(run, prepared, { response, exchange }))
}

/**
 * Why an answer of which nothing has come may be asked for later: what it needs is away or taken, or the connection to its engine was lost.
 * Null for any other error, which would come again.
 */
export function whyLater(error: unknown): 'away' | 'lost' | null {
  const { code } = apiErrorOf(error)
  if (code === 'too_many_requests' || code === 'server_is_overloaded') return 'away'
  const { cause } = error as Error
  return cause instanceof EngineError && cause.connection_lost ? 'lost' : null
}

type Run = {
  ctx: Context
  deps: ResponseDeps
  call: ResponseCall
  left: AbortSignal
  failure: ApiError | null
}

type Events = AsyncGenerator<readonly ResponseEvent[], void, void>

async function openRun(
  run: Run,
  { response, prepared }: { response: ResponseObject; prepared: PreparedCall | null },
  events: Events,
): Promise<ResponseRun> {
  const { value } = await events.next()
  return {
    response,
    input: prepared?.input ?? [],
    history: prepared?.history ?? [],
    dropped_tools: prepared?.tools.dropped ?? [],
    dropped_items: prepared?.dropped_items ?? [],
    first: value ?? [],
    failure: () => run.failure,
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
async function askModel({ ctx, deps, call, left }: Run, prepared: PreparedCall): Promise<Exchange | null> {
  const { principal, request_id, kept } = call
  const { model, engine, exchange } = prepared
  return exchange && startExchange(ctx, deps.meter, { principal, request_id, model, engine, kept, ...exchange }, left)
}

async function* answer(
  run: Run,
  prepared: PreparedCall,
  { response, exchange }: { response: ResponseObject; exchange: Exchange | null },
): Events {
  const writer = openWriter(run, prepared, { response, sequence_number: 0 })
  const target = { writer, response, input: prepared.input }
  const created = writer.snapshot('response.created')
  if (exchange) {
    return yield* writeExchange(run, target, {
      exchange,
      first: [...created, ...writer.snapshot('response.in_progress')],
    })
  }
  yield created
  yield* finish(run, target, { usage: { input: 0, cached_input: 0, output: 0, reasoning: 0 }, finished: true })
}

/** Answers a stored response, whose `created` and `queued` were the events 0 and 1. */
async function* answerQueued(run: Run, response: ResponseObject): Events {
  const { ctx, deps, call, left } = run
  response.status = 'in_progress'
  yield openWriter(run, null, { response, sequence_number: 2 }).snapshot('response.in_progress')
  let prepared: PreparedCall | null = null
  let exchange: Exchange | null = null
  let error: unknown
  try {
    prepared = await prepareCall(ctx, deps, call, left)
    exchange = await askModel(run, prepared)
  } catch (thrown) {
    error = thrown
  }
  const writer = openWriter(run, prepared, { response, sequence_number: 3 })
  const target = { writer, response, input: prepared?.input ?? [] }
  if (!exchange && !left.aborted && whyLater(error)) throw error
  if (exchange) yield* writeExchange(run, target, { exchange, first: [] })
  else yield* finish(run, target, { usage: null, finished: false, error })
}

type Target = ResponseRecord & { writer: ResponseWriter }

/** The events of an exchange, batch by batch, and its end. `first` is sent with the first batch. */
async function* writeExchange(
  run: Run,
  target: Target,
  { exchange, first }: { exchange: Exchange; first: readonly ResponseEvent[] },
): Events {
  const { writer } = target
  let usage: TokenUsage | null = null
  let error: unknown
  try {
    let events = first
    for (let batch: readonly ChatEvent[] | null = exchange.first; batch; batch = await exchange.next()) {
      const last = batch.at(-1)
      if (last?.type === 'end') usage = last.usage
      const more = writer.write(batch)
      events = events.length > 0 ? [...events, ...more] : more
      if (events.length > 0) yield events
      events = []
    }
  } catch (thrown) {
    error = thrown
  } finally {
    await exchange.stop()
  }
  yield* finish(run, target, { usage, finished: writer.isFinished(), error })
}

/** Sets the final status of the response and saves it, then emits its last event. */
async function* finish(
  run: Run,
  target: Target,
  end: { usage: TokenUsage | null; finished: boolean; error?: unknown },
): Events {
  const { call, left } = run
  const { writer } = target
  if (!end.finished && left.aborted) {
    if (!call.queued && !call.cancelled?.aborted) return
    const closed = writer.cancel(end.usage)
    await save(run, target)
    return yield [...closed, ...writer.end()]
  }
  let { error } = end
  if (error === undefined && end.finished && end.usage) {
    writer.settle(end.usage)
    try {
      await save(run, target)
      return yield writer.end()
    } catch (thrown) {
      if (call.queued) throw thrown
      error = thrown
    }
  }
  // An outage of the database does not end a stored response: it is run again.
  if (call.queued && isDatabaseDown(error)) throw error
  run.failure = toApiError(run, error)
  const events = writer.fail(run.failure, { error_event: call.error_event ?? true })
  if (call.queued) await save(run, target)
  yield events
}

async function save({ ctx, call }: Run, { response, input }: ResponseRecord): Promise<void> {
  if (call.save) await call.save({ response, input })
  else if (response.store) await saveResponse(ctx, call, { response, input })
}

function toApiError({ ctx, call }: Run, error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (error === undefined) return new ApiError('upstream_error', 'The model failed to answer. Try again.')
  const known = apiErrorOf(error)
  ctx.log.error('response_failed', { request_id: call.request_id, code: known.code, error })
  return known
}

function openWriter(
  { ctx, call }: Run,
  prepared: PreparedCall | null,
  { response, sequence_number }: { response: ResponseObject; sequence_number: number },
): ResponseWriter {
  const { org_id } = call.principal
  // A model may not answer at all unless its reasoning comes back with its calls, in the history of a stored response too.
  const encrypted = call.body.include?.includes('reasoning.encrypted_content') || prepared?.engine.takes_reasoning
  const sealed = (text: string, purpose: SealBinding['purpose']) => seal(ctx.secret, { org_id, purpose }, text)
  return responseWriter(response, {
    tools: prepared?.tools.names ?? new Map(),
    reasoning_view: {
      summary: call.body.reasoning?.summary !== undefined,
      raw: prepared?.model.expose_raw_reasoning ?? false,
      seal: encrypted ? sealed : null,
    },
    seal_summary: prepared?.compacts ? (text) => sealed(text, 'compaction') : undefined,
    clock: ctx.clock,
    sequence_number,
  })
}
