import { type Route, route } from '../../identity/caller/route.ts'
import { leaseForReading } from '../../platform/http/body/byte-budget.ts'
import { sendJson, sendParts } from '../../platform/json/send.ts'
import { rebuiltEvents } from '../events/event.ts'
import { ResponseStreamEvent } from '../schema/events.ts'
import { ResponseObject } from '../schema/response.ts'
import { DeletedResponse, INPUT_PAGE, InputList, InputQuery, StoredQuery } from '../schema/stored.ts'
import { cancelResponse, deleteResponse } from '../stored/cancel.ts'
import { pageOfInput, readResponse } from '../stored/read.ts'
import { type StreamOptions, streamBackground, streamStored } from './stream.ts'

const common = { auth: 'api_key_or_session' } as const

/** The routes of stored responses, which only the person who made them may use. */
export function storedRoutes(streams: StreamOptions): readonly Route[] {
  return [readStored(streams), deleteStored, cancelStored, listInputItems]
}

function readStored(streams: StreamOptions): Route {
  return route({
    ...common,
    method: 'GET',
    path: '/v1/responses/:response_id',
    summary: 'Read a stored response, plain or as events',
    description: 'Only the person who made it can read it. A background response streams its events as they come.',
    // What is included was decided when the response was made: here the values are only checked.
    query: StoredQuery,
    response: ResponseObject,
    events: ResponseStreamEvent,
    async handle(ctx, { principal, params, query, reply }) {
      const lease = leaseForReading(ctx.budget, principal.org_id, reply)
      const { background, body } = await readResponse(ctx, principal, { id: params.response_id!, lease })
      if (!query.stream) return sendJson(reply, body)
      const after = query.starting_after ?? -1
      if (background) return streamBackground(ctx, { reply, ...streams }, principal, { response: body, after, lease })
      return streamStored(ctx, { reply, ...streams }, () => rebuiltEvents(body, after))
    },
  })
}

const deleteStored = route({
  ...common,
  method: 'DELETE',
  path: '/v1/responses/:response_id',
  summary: 'Delete a stored response; a running one is cancelled first',
  description: 'Its items cannot be continued from afterwards.',
  response: DeletedResponse,
  async handle(ctx, { principal, params }) {
    const id = params.response_id!
    await deleteResponse(ctx, principal, id)
    return { id, object: 'response', deleted: true }
  },
})

const cancelStored = route({
  ...common,
  method: 'POST',
  path: '/v1/responses/:response_id/cancel',
  summary: 'Cancel a background response',
  description: 'What was produced so far is charged. A response that has ended is returned as it is.',
  response: ResponseObject,
  errors: ['invalid_request_error'],
  async handle(ctx, { principal, params, reply }) {
    const lease = leaseForReading(ctx.budget, principal.org_id, reply)
    return sendJson(reply, await cancelResponse(ctx, principal, { id: params.response_id!, lease }))
  },
})

const listInputItems = route({
  ...common,
  method: 'GET',
  path: '/v1/responses/:response_id/input_items',
  summary: 'List what a response was asked with',
  description: 'The input items of a stored response, the newest first unless `order` says otherwise.',
  query: InputQuery,
  response: InputList,
  async handle(ctx, { principal, params, query, reply }) {
    const { after = null, order = 'desc', limit = INPUT_PAGE.default } = query
    const lease = leaseForReading(ctx.budget, principal.org_id, reply)
    const page = { response_id: params.response_id!, after, order, limit, lease }
    return sendParts(reply, await pageOfInput(ctx, principal, page))
  },
})
