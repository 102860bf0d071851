import type { FastifyReply } from 'fastify'
import type { Context } from '../context.ts'
import { type Endpoint, endpoint } from '../identity/endpoint.ts'
import type { Principal } from '../identity/principal.ts'
import { ApiError } from '../platform/errors.ts'
import { supportedValues } from '../platform/explain.ts'
import { abortOnLeaving } from '../platform/leaving.ts'
import { openEventStream, STREAM_TIMING, type StreamTiming } from '../platform/sse.ts'
import { cancelResponse, deleteResponse } from './cancel.ts'
import { DONE, frameOf, rebuiltEvents } from './event-lines.ts'
import { followEvents } from './follow.ts'
import type { ResponseEvent } from './run.ts'
import { INCLUDES, ResponseObject } from './schema.ts'
import { DeletedResponse, INPUT_PAGE, InputList, InputQuery, StoredQuery } from './schema-stored.ts'
import { pageOfInput, readResponse } from './stored.ts'

const common = { auth: 'api_key_or_session' } as const

/** The routes of responses that are stored, each for the person who made it alone. */
export function storedEndpoints(timing: StreamTiming = STREAM_TIMING): readonly Endpoint[] {
  return [readStored(timing), deleteStored, cancelStored, listInputItems]
}

function readStored(timing: StreamTiming): Endpoint {
  return endpoint({
    ...common,
    method: 'GET',
    path: '/v1/responses/:response_id',
    summary: 'Read a stored response, plain or as events',
    query: StoredQuery,
    response: ResponseObject,
    async handle(ctx, { principal, params, query, reply }) {
      requireKnownIncludes(query)
      const { background, body } = await readResponse(ctx, principal, params.response_id!)
      if (!query.stream) return body
      const after = query.starting_after ?? -1
      if (background) return streamBackground(ctx, { reply, timing }, principal, { response: body, after })
      return sendEvents({ reply, timing }, () => [rebuiltEvents(body).slice(after + 1)])
    },
  })
}

const deleteStored = endpoint({
  ...common,
  method: 'DELETE',
  path: '/v1/responses/:response_id',
  summary: 'Delete a stored response; a running one is cancelled first',
  response: DeletedResponse,
  async handle(ctx, { principal, params }) {
    const id = params.response_id!
    await deleteResponse(ctx, principal, id)
    return { id, object: 'response', deleted: true }
  },
})

const cancelStored = endpoint({
  ...common,
  method: 'POST',
  path: '/v1/responses/:response_id/cancel',
  summary: 'Cancel a background response',
  response: ResponseObject,
  handle: (ctx, { principal, params }) => cancelResponse(ctx, principal, params.response_id!),
})

const listInputItems = endpoint({
  ...common,
  method: 'GET',
  path: '/v1/responses/:response_id/input_items',
  summary: 'List what a response was asked with',
  query: InputQuery,
  response: InputList,
  async handle(ctx, { principal, params, query }) {
    requireKnownIncludes(query)
    const { after = null, order = 'desc', limit = INPUT_PAGE.default } = query
    return pageOfInput(ctx, principal, { response_id: params.response_id!, after, order, limit })
  },
})

/** What is included was decided when the response was made, so that nothing is left to do here but to refuse a mistake. */
function requireKnownIncludes(query: { include?: string | string[]; 'include[]'?: string | string[] }): void {
  const asked = [query.include ?? [], query['include[]'] ?? []].flat()
  const wrong = asked.find((each) => !(INCLUDES as readonly string[]).includes(each))
  if (wrong === undefined) return
  const text = `Invalid value: '${wrong.slice(0, 64)}'. ${supportedValues(INCLUDES)}`
  throw new ApiError('invalid_value', text, { param: 'include' })
}

/** How a stream of events goes out. */
export type Sending = { reply: FastifyReply; timing: StreamTiming }

/** Tells a background response after the event `after` (-1: all of it), then live. A client that leaves stops nothing but its stream. */
export function streamBackground(
  ctx: Pick<Context, 'db' | 'changes'>,
  sending: Sending,
  principal: Principal,
  from: { response: ResponseObject; after: number },
): Promise<FastifyReply> {
  return sendEvents(sending, (left) => followEvents(ctx, principal, from, left))
}

/** Sends events as they come, each in one write, and the end mark. */
async function sendEvents(
  { reply, timing }: Sending,
  tell: (left: AbortSignal) => Iterable<ResponseEvent[]> | AsyncIterable<ResponseEvent[]>,
): Promise<FastifyReply> {
  const left = abortOnLeaving(reply)
  const stream = openEventStream(reply, left, timing)
  for await (const events of tell(left.signal)) {
    for (const event of events) {
      const full = stream.write(frameOf(event))
      if (full) await full
      if (left.signal.aborted) return reply
    }
  }
  stream.end(DONE)
  return reply
}
