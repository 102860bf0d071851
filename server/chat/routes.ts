import type { FastifyReply } from 'fastify'
import type { Meter } from '../billing/meter.ts'
import { entitledChatModel } from '../catalog/entitlements.ts'
import type { Context } from '../context.ts'
import { isHeavy } from '../engines/chat/answer-weight.ts'
import type { ChatEvent, TokenUsage } from '../engines/chat/contract.ts'
import type { Principal } from '../identity/caller/principal.ts'
import { type Route, route } from '../identity/caller/route.ts'
import { unixSeconds } from '../platform/clock.ts'
import { ApiError, errorBody } from '../platform/errors.ts'
import { abortOnLeaving } from '../platform/http/abort-on-disconnect.ts'
import { type Lease, leaseForAnswer } from '../platform/http/body/byte-budget.ts'
import { DONE, openEventStream, STREAM_TIMING, type StreamTiming } from '../platform/http/sse.ts'
import { randomHex } from '../platform/ids.ts'
import { isRecord } from '../platform/json/record.ts'
import { sendJson } from '../platform/json/send.ts'
import { checkChatBody, checkModelParameters } from './check.ts'
import { type AnswerHead, chunkWriter } from './chunks.ts'
import { collectAnswer } from './collect.ts'
import { inputSize, limitAnswer } from './count.ts'
import { type Exchange, startExchange } from './exchange.ts'
import { resolveMessages } from './messages.ts'
import { chatNames, chatParameters, engineRequest } from './request.ts'
import { ChatBody, ChatCompletion, ChatStreamEvent, TEXT_REPAIR } from './schema.ts'

/** The routes of chat completions. What they use is charged to `meter`. */
export function chatRoutes(meter: Meter, timing: StreamTiming = STREAM_TIMING): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/chat/completions',
      auth: 'api_key_or_session',
      summary: 'Create a chat completion, plain or streamed',
      description:
        "The request and response of OpenAI's chat completions. The tokens are charged before the response ends.",
      body: ChatBody,
      body_check: 'handler',
      text_repair: TEXT_REPAIR,
      response: ChatCompletion,
      events: ChatStreamEvent,
      errors: ['insufficient_credits', 'model_not_found', 'upstream_error', 'intake_paused', 'upstream_timeout'],
      example: { model: 'sandbox-1', messages: [{ role: 'user', content: 'Say hello.' }] },
      async handle(ctx, { principal, request, reply }) {
        const body = checkChatBody(readLegacy(request.body))
        const left = abortOnLeaving(reply)
        const exchange = await openExchange(
          ctx,
          meter,
          { principal, request_id: request.id, body, reply, lease: request.lease! },
          left.signal,
        )
        const head: AnswerHead = { id: newCompletionId(), created: unixSeconds(ctx.clock.now()), model: body.model }
        if (!body.stream) return sendAnswer(reply, await collectAnswer(exchange, head), body)
        const include_usage = body.stream_options?.include_usage ?? false
        return streamAnswer(ctx, { reply, left, timing }, exchange, { head, include_usage, request_id: request.id })
      },
    }),
  ]
}

/**
 * A body without the members by which clients of OpenAI's first tools say that there are none: `functions: []`, or `{}` as PHP writes it,
 * and `function_call: "none"`.
 * Throws ApiError 400 for a body of responses, naming their route.
 */
function readLegacy(body: unknown): unknown {
  if (!isRecord(body)) return body
  if (body.messages == null && body.input != null) {
    const text = "Missing required parameter: 'messages'. A body with 'input' belongs to POST /v1/responses."
    throw new ApiError('missing_required_parameter', text, { param: 'messages' })
  }
  if (body.functions === undefined && body.function_call === undefined) return body
  const { functions, function_call, ...rest } = body
  const isEmpty = functions == null || (typeof functions === 'object' && Object.keys(functions).length === 0)
  const callsNone = function_call == null || function_call === 'none' || function_call === 'auto'
  return isEmpty && callsNone ? rest : body
}

async function openExchange(
  ctx: Context,
  meter: Meter,
  call: { principal: Principal; request_id: string; body: ChatBody; reply: FastifyReply; lease: Lease },
  left: AbortSignal,
): Promise<Exchange> {
  const { principal, request_id, body, reply, lease } = call
  ctx.switches.requireIntake()
  const model = entitledChatModel(ctx.config, principal.plan, body.model)
  const served = ctx.engines.chat.get(model.id)!
  const names = chatNames(body)
  const parameters = chatParameters(body)
  checkModelParameters(parameters, model, names)
  // Before files are fetched and rendered for the caller.
  const admitted = meter.admit(principal.org_id)
  if (admitted) await admitted
  const messages = await resolveMessages(
    ctx,
    { org_id: principal.org_id, model, engine: served.engine, lease, messages: body.messages },
    left,
  )
  const { engine } = served
  const request = engineRequest(parameters, { body, model, engine_model: served.model, messages, secret: ctx.secret })
  const size = inputSize(engine, request, left)
  const limited = limitAnswer(request, model, size)
  if (limited) await limited
  const kept = body.stream ? undefined : leaseForAnswer(ctx.budget, principal.org_id, reply)
  return startExchange(
    ctx,
    meter,
    { principal, request_id, model, engine, request, parameters, names, size, kept },
    left,
  )
}

/** A heavy answer is written piece by piece, with other work between. */
function sendAnswer(
  reply: FastifyReply,
  answer: ChatCompletion,
  { n, logprobs, top_logprobs }: ChatBody,
): ChatCompletion | Promise<FastifyReply> {
  return isHeavy({ n, logprobs, top_logprobs }) ? sendJson(reply, answer) : answer
}

/** After the headers are sent an error can only be an event; the stream ends with the end mark in any case. */
async function streamAnswer(
  ctx: Context,
  { reply, left, timing }: { reply: FastifyReply; left: AbortController; timing: StreamTiming },
  exchange: Exchange,
  answer: { head: AnswerHead; include_usage: boolean; request_id: string },
): Promise<FastifyReply> {
  const stream = openEventStream(reply, left, timing)
  const chunks = chunkWriter(answer.head, answer)
  try {
    let usage: TokenUsage | null = null
    for (
      let batch: readonly ChatEvent[] | null = exchange.first;
      batch && !left.signal.aborted;
      batch = await exchange.next()
    ) {
      const frames = chunks.frames(batch)
      const last = batch.at(-1)
      if (last?.type === 'end') usage = last.usage
      const full = frames === '' ? undefined : stream.write(frames)
      if (full) await full
    }
    if (usage) stream.end(chunks.end(usage))
  } catch (error) {
    const known = error instanceof ApiError ? error : internalError(ctx, answer.request_id, error)
    stream.end(`data: ${JSON.stringify(errorBody(known))}\n\n${DONE}`)
  } finally {
    await exchange.stop()
  }
  return reply
}

function internalError(ctx: Context, request_id: string, error: unknown): ApiError {
  ctx.log.error('stream_failed', { request_id, error })
  return new ApiError('server_error', 'Something went wrong on our side. Quote the request id when you report it.')
}

function newCompletionId(): string {
  return 'chatcmpl-' + randomHex(12)
}
