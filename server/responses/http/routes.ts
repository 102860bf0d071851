import type { FastifyReply } from 'fastify'
import type { Meter } from '../../billing/meter.ts'
import type { Context } from '../../context.ts'
import { type Endpoint, endpoint } from '../../identity/caller/endpoint.ts'
import { abortOnLeaving } from '../../platform/http/abort-on-disconnect.ts'
import { openEventStream, STREAM_TIMING, type StreamTiming } from '../../platform/http/sse.ts'
import type { ResponseCall, ResponseEvent, ResponseRun } from '../call.ts'
import { DONE, frameOf } from '../events/lines.ts'
import { checkBody } from '../request/check.ts'
import { newResponse } from '../request/new-response.ts'
import { prepareCall } from '../request/prepare.ts'
import { ResponseStreamEvent } from '../schema/events.ts'
import { CreateResponse, ResponseObject } from '../schema/response.ts'
import { queueResponse } from '../stored/submit.ts'
import { startResponse } from '../turn.ts'
import { compactEndpoints } from './routes-compact.ts'
import { countEndpoints } from './routes-count.ts'
import { type Following, storedEndpoints, streamBackground } from './routes-stored.ts'

/** The routes of responses over HTTP. What they use is charged to `meter`. `stopping` aborts when the service stops. */
export function responseEndpoints(meter: Meter, options: Partial<Following> = {}): readonly Endpoint[] {
  const { timing = STREAM_TIMING, stopping = new AbortController().signal } = options
  const following = { timing, stopping }
  return [
    createResponse(meter, following),
    ...countEndpoints(meter),
    ...compactEndpoints(meter),
    ...storedEndpoints(following),
  ]
}

function createResponse(meter: Meter, following: Following): Endpoint {
  const { timing } = following
  return endpoint({
    method: 'POST',
    path: '/v1/responses',
    auth: 'api_key_or_session',
    summary: 'Create a response: plain, streamed or in the background',
    body: CreateResponse,
    body_check: 'handler',
    response: ResponseObject,
    events: ResponseStreamEvent,
    headers: { 'x-dropped-tools': 'sometimes' },
    error_headers: ['x-dropped-tools'],
    errors: [
      'insufficient_credits',
      'model_not_found',
      'previous_response_not_found',
      'item_not_found',
      'upstream_error',
      'upstream_timeout',
    ],
    example: { model: 'sandbox-1', input: 'Say hello.' },
    async handle(ctx, { principal, request, reply }) {
      const body = checkBody(request.body)
      const left = abortOnLeaving(reply)
      const call: ResponseCall = { principal, request_id: request.id, body, plain: !body.stream }
      if (body.background) return answerLater(ctx, { meter, ...following }, call, { reply, left })
      const run = await startResponse(ctx, { meter }, call, left.signal)
      nameDropped(reply, run.dropped_tools)
      return body.stream ? streamRun(run, { reply, left, timing }) : wholeAnswer(run)
    },
  })
}

/** Everything that is an HTTP error is found before the response is accepted. */
async function answerLater(
  ctx: Context,
  { meter, ...following }: Following & { meter: Meter },
  call: ResponseCall,
  { reply, left }: { reply: FastifyReply; left: AbortController },
): Promise<unknown> {
  const prepared = await prepareCall(ctx, { meter }, call, left.signal)
  const response = newResponse(ctx, call.body, prepared)
  await queueResponse(ctx, call, { response, input: prepared.input })
  nameDropped(reply, prepared.tools.dropped)
  if (!call.body.stream) return response
  return streamBackground(ctx, { reply, ...following }, call.principal, { response, after: -1 })
}

/** The plain answer is what the events have made of the response. */
async function wholeAnswer(run: ResponseRun): Promise<ResponseObject> {
  for (let events: readonly ResponseEvent[] | null = run.first; events; ) events = await run.next()
  const failure = run.failure()
  if (failure) throw failure
  return run.response
}

/** Frames of one batch leave in one write: some clients take a frame only when it comes in one piece. */
async function streamRun(
  run: ResponseRun,
  { reply, left, timing }: { reply: FastifyReply; left: AbortController; timing: StreamTiming },
): Promise<FastifyReply> {
  const stream = openEventStream(reply, left, timing)
  try {
    let events: readonly ResponseEvent[] | null = run.first
    while (events && !left.signal.aborted) {
      let frames = ''
      for (const event of events) frames += frameOf(event)
      const full = stream.write(frames)
      if (full) await full
      events = await run.next()
    }
    if (!left.signal.aborted) stream.end(DONE)
  } finally {
    await run.stop()
  }
  return reply
}

function nameDropped(reply: FastifyReply, types: readonly string[]): void {
  if (types.length > 0) reply.header('x-dropped-tools', types.join(', '))
}
