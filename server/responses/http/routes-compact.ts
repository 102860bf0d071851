import type { Meter } from '../../billing/meter.ts'
import { type Endpoint, endpoint } from '../../identity/caller/endpoint.ts'
import { abortOnLeaving } from '../../platform/http/abort-on-disconnect.ts'
import { checkCompaction, compact } from '../context/compact.ts'
import { CompactedResponse, CompactResponse } from '../schema/response.ts'

/** Making a conversation short. What the summary costs is charged to `meter`. */
export function compactEndpoints(meter: Meter): readonly Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/responses/compact',
      auth: 'api_key_or_session',
      summary: 'Put a summary in the place of everything but the messages of the user',
      body: CompactResponse,
      body_check: 'handler',
      response: CompactedResponse,
      errors: [
        'insufficient_credits',
        'model_not_found',
        'previous_response_not_found',
        'item_not_found',
        'upstream_error',
        'upstream_timeout',
      ],
      example: { model: 'sandbox-1', previous_response_id: 'resp_…' },
      async handle(ctx, { principal, request, reply }) {
        const body = checkCompaction(request.body)
        const left = abortOnLeaving(reply)
        return compact(ctx, meter, { principal, request_id: request.id, body }, left.signal)
      },
    }),
  ]
}
