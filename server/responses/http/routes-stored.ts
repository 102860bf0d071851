import type { FastifyReply } from 'fastify'
import type { Context } from '../../context.ts'
import { type Endpoint, endpoint } from '../../identity/caller/endpoint.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import { ApiError } from '../../platform/errors.ts'
import { abortOnLeaving } from '../../platform/http/abort-on-disconnect.ts'
import { openEventStream, type StreamTiming } from '../../platform/http/sse.ts'
import { supportedValues } from '../../platform/schema/explain.ts'
import type { ResponseEvent } from '../call.ts'
import { DONE, frameOf, rebuiltEvents } from '../events/lines.ts'
import { ResponseStreamEvent } from '../schema/events.ts'
import { INCLUDES, ResponseObject } from '../schema/response.ts'
import { DeletedResponse, INPUT_PAGE, InputList, InputQuery, StoredQuery } from '../schema/stored.ts'
import { cancelResponse, deleteResponse } from '../stored/cancel.ts'
import { followEvents } from '../stored/follow.ts'
import { pageOfInput, readResponse } from '../stored/stored.ts'

const common = { auth: 'api_key_or_session' } as const

/** The routes of responses that are stored, each for the person who made it alone. */
export function storedEndpoints(following: Following): readonly Endpoint[] {
  return [readStored(following), deleteStored, cancelStored, listInputItems]
}

function readStored(following: Following): Endpoint {
  return endpoint({
    ...common,
    method: 'GET',
    path: '/v1/responses/:response_id',
    summary: 'Read a stored response, plain or as events',
    query: StoredQuery,
    response: ResponseObject,
    events: ResponseStreamEvent,
    async handle(ctx, { principal, params, query, reply }) {
      requireKnownIncludes(query)
      const { background, body } = await readResponse(ctx, principal, params.response_id!)
      if (!query.stream) return body
      const after = query.starting_after ?? -1
      if (background) return streamBackground(ctx, { reply, ...following }, principal, { response: body, after })
      return sendEvents(ctx, { reply, ...following }, () => [rebuiltEvents(body).slice(after + 1)])
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
  errors: ['invalid_request_error'],
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

/** How streams of stored events go out. `stopping` aborts when the service stops: whoever follows then has a few seconds to see an end. */
export type Following = { timing: StreamTiming; stopping: AbortSignal }
export type Sending = Following & { reply: FastifyReply }

/** Followers of what has not ended by then are cut off; they find it again by its id. */
const STOP_SECONDS = 5

/** Sends a background response after the event `after` (-1: all of it), then live. A client that leaves stops nothing but its stream. */
export function streamBackground(
  ctx: Pick<Context, 'db' | 'changes' | 'log'>,
  sending: Sending,
  principal: Principal,
  from: { response: ResponseObject; after: number },
): Promise<FastifyReply> {
  return sendEvents(ctx, sending, (left) => followEvents(ctx, principal, from, left))
}

/** Sends events as they come, each in one write, and the end mark. What fails breaks the stream off: there is no end to show. */
async function sendEvents(
  { log }: Pick<Context, 'log'>,
  { reply, timing, stopping }: Sending,
  follow: (left: AbortSignal) => Iterable<ResponseEvent[]> | AsyncIterable<ResponseEvent[]>,
): Promise<FastifyReply> {
  const left = abortOnLeaving(reply)
  const stream = openEventStream(reply, left, timing)
  const patience = cutOffAtStop(reply, left, stopping)
  try {
    for await (const events of follow(left.signal)) {
      for (const event of events) {
        const full = stream.write(frameOf(event))
        if (full) await full
        if (left.signal.aborted) return reply
      }
    }
    if (!left.signal.aborted) stream.end(DONE)
  } catch (error) {
    log.error('stream_failed', { request_id: reply.request.id, error })
    reply.raw.destroy()
  } finally {
    patience.end()
  }
  return reply
}

function cutOffAtStop(reply: FastifyReply, left: AbortController, stopping: AbortSignal): { end(): void } {
  let timer: NodeJS.Timeout | undefined
  const begin = () => {
    timer = setTimeout(() => {
      left.abort()
      reply.raw.destroy()
    }, STOP_SECONDS * 1000)
  }
  if (stopping.aborted) begin()
  else stopping.addEventListener('abort', begin, { once: true })
  return {
    end() {
      clearTimeout(timer)
      stopping.removeEventListener('abort', begin)
    },
  }
}
