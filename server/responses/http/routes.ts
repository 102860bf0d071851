import type { FastifyReply } from 'fastify'
import { TEXT_REPAIR } from '../../chat/schema.ts'
import type { Context } from '../../context.ts'
import { type Route, route } from '../../identity/caller/route.ts'
import { abortOnLeaving } from '../../platform/http/abort-on-disconnect.ts'
import { leaseForAnswer, leaseForReading } from '../../platform/http/body/byte-budget.ts'
import { STREAM_TIMING } from '../../platform/http/sse.ts'
import { sendJson } from '../../platform/json/send.ts'
import type { ResponseCall, ResponseDeps } from '../call.ts'
import type { ResponseEvent } from '../events/event.ts'
import { checkResponseBody } from '../request/check/body.ts'
import { newResponse, prepareCall } from '../request/prepare.ts'
import { type ResponseRun, startRun } from '../run.ts'
import { ResponseStreamEvent } from '../schema/events.ts'
import { CreateResponse, ResponseObject } from '../schema/response.ts'
import { enqueueResponse } from '../stored/save.ts'
import { contextRoutes } from './context.ts'
import { nameDropped } from './dropped.ts'
import { storedRoutes } from './stored.ts'
import { type StreamOptions, streamBackground, streamRun } from './stream.ts'

/** The routes of responses over HTTP. `stopping` aborts when the service stops. */
export function responseRoutes(deps: ResponseDeps, options: Partial<StreamOptions> = {}): readonly Route[] {
  const { timing = STREAM_TIMING, stopping = new AbortController().signal } = options
  const streams = { timing, stopping }
  return [createResponse(deps, streams), ...contextRoutes(deps), ...storedRoutes(streams)]
}

function createResponse(deps: ResponseDeps, streams: StreamOptions): Route {
  return route({
    method: 'POST',
    path: '/v1/responses',
    auth: 'api_key_or_session',
    summary: 'Create a response: plain, streamed or in the background',
    description: "The request and response of OpenAI's responses. It is stored for 30 days unless `store` is false.",
    body: CreateResponse,
    body_check: 'handler',
    response: ResponseObject,
    events: ResponseStreamEvent,
    text_repair: TEXT_REPAIR,
    headers: { 'x-dropped-tools': 'sometimes', 'x-dropped-items': 'sometimes' },
    error_headers: ['x-dropped-tools', 'x-dropped-items'],
    errors: [
      'insufficient_credits',
      'storage_limit_exceeded',
      'concurrency_limit_exceeded',
      'model_not_found',
      'previous_response_not_found',
      'item_not_found',
      'upstream_error',
      'intake_paused',
      'upstream_timeout',
    ],
    example: { model: 'sandbox-1', input: 'Say hello.' },
    async handle(ctx, { principal, request, reply }) {
      const left = abortOnLeaving(reply)
      const body = await checkResponseBody(request.body, { left: left.signal })
      const lease = request.lease!
      const kept = leaseForAnswer(ctx.budget, principal.org_id, reply)
      const call: ResponseCall = { principal, request_id: request.id, body, lease, kept, plain: !body.stream }
      if (body.background) return acceptBackground(ctx, { ...deps, ...streams }, call, { reply, left })
      const run = await startRun(ctx, deps, call, left.signal)
      request.created = { response_id: run.response.id }
      nameDropped(reply, { tools: run.dropped_tools, items: run.dropped_items })
      if (body.stream) return streamRun(run, { reply, left, timing: streams.timing })
      return sendJson(reply, await plainAnswer(run))
    },
  })
}

/** Every check that is an HTTP error is made before the response is accepted. */
async function acceptBackground(
  ctx: Context,
  { timing, stopping, ...deps }: ResponseDeps & StreamOptions,
  call: ResponseCall,
  { reply, left }: { reply: FastifyReply; left: AbortController },
): Promise<unknown> {
  const prepared = await prepareCall(ctx, deps, call, left.signal)
  const response = newResponse(ctx, call.body, prepared)
  // Before anything is stored: it may be refused.
  const lease = call.body.stream ? leaseForReading(ctx.budget, call.principal.org_id, reply) : null
  await enqueueResponse(ctx, call, { response, input: prepared.input }, deps.join)
  reply.request.created = { response_id: response.id }
  // Its consumer counts the bytes again: a client that follows the response must not hold the room that the consumer waits for.
  call.lease.end()
  nameDropped(reply, { tools: prepared.tools.dropped, items: prepared.dropped_items })
  if (!lease) return response
  return streamBackground(ctx, { reply, timing, stopping }, call.principal, { response, after: -1, lease })
}

/** The plain answer is what the events have made of the response. */
async function plainAnswer(run: ResponseRun): Promise<ResponseObject> {
  for (let events: readonly ResponseEvent[] | null = run.first; events; ) events = await run.next()
  const failure = run.failure()
  if (failure) throw failure
  return run.response
}
