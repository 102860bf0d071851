import Type from 'typebox'
import { entitledChatModel } from '../../catalog/entitlements.ts'
import { TEXT_REPAIR } from '../../chat/schema.ts'
import { type Route, route } from '../../identity/caller/route.ts'
import { ApiError } from '../../platform/errors.ts'
import { abortOnLeaving } from '../../platform/http/abort-on-disconnect.ts'
import type { ResponseDeps } from '../call.ts'
import { assembleRequest } from '../context/assemble.ts'
import { checkCompaction, compact } from '../context/compact.ts'
import { loadContext } from '../context/load.ts'
import { checkResponseBody } from '../request/check/body.ts'
import { requestOf } from '../request/prepare.ts'
import { CompactedResponse, CompactResponse, CreateResponse } from '../schema/response.ts'
import { nameDropped } from './dropped.ts'

/** The routes that work on a context without making a response: counting it and compacting it. */
export function contextRoutes(deps: ResponseDeps): readonly Route[] {
  return [countTokens(deps), compactContext(deps)]
}

const DROPPED = { 'x-dropped-items': 'sometimes' } as const
const InputTokens = Type.Object({ object: Type.Literal('response.input_tokens'), input_tokens: Type.Integer() })

/** More than the context of any model. Counting is free and takes processor time, so it ends somewhere. */
const COUNTED_TOKENS_MAX = 2_097_152

/** Free of charge, but the balance must admit it: files are fetched and rendered to count them. */
function countTokens({ meter, lengths }: ResponseDeps): Route {
  return route({
    method: 'POST',
    path: '/v1/responses/input_tokens',
    auth: 'api_key_or_session',
    summary: 'Count the input tokens of a response without making it',
    description: 'Takes the body of a response, with its history and tools. Nothing is charged.',
    body: CreateResponse,
    body_check: 'handler',
    text_repair: TEXT_REPAIR,
    response: InputTokens,
    headers: DROPPED,
    errors: ['insufficient_credits', 'model_not_found', 'previous_response_not_found', 'item_not_found'],
    example: { model: 'sandbox-1', input: 'Say hello.' },
    async handle(ctx, { principal, request, reply }) {
      const { org_id, plan } = principal
      const left = abortOnLeaving(reply).signal
      const body = await checkResponseBody(request.body, { left })
      const model = entitledChatModel(ctx.config, plan, body.model)
      const served = ctx.engines.chat.get(model.id)!
      const lease = request.lease!
      const { context, skipped } = await loadContext(ctx, { principal, body, lease }, left)
      const asking = requestOf(body, context, model)
      const admitted = meter.admit(org_id)
      if (admitted) await admitted
      const asked = { org_id, model, served, lease, skipped, lengths, ...asking }
      const { exchange, dropped_items } = await assembleRequest(ctx, asked, left)
      nameDropped(reply, { items: dropped_items })
      const most = Math.max(COUNTED_TOKENS_MAX, model.context_length ?? 0)
      const input_tokens = await exchange.size.count(most)
      if (input_tokens > most) {
        const text = `Your input has more than ${most} tokens, which is as far as it is counted. Shorten the input.`
        throw new ApiError('context_length_exceeded', text, { param: 'input' })
      }
      return { object: 'response.input_tokens', input_tokens }
    },
  })
}

function compactContext(deps: ResponseDeps): Route {
  return route({
    method: 'POST',
    path: '/v1/responses/compact',
    auth: 'api_key_or_session',
    summary: 'Replace everything but the messages of the user with a summary',
    description: 'The output is the input of the next request. The tokens of the summary are charged.',
    body: CompactResponse,
    body_check: 'handler',
    text_repair: TEXT_REPAIR,
    response: CompactedResponse,
    headers: DROPPED,
    errors: [
      'insufficient_credits',
      'model_not_found',
      'previous_response_not_found',
      'item_not_found',
      'upstream_error',
      'intake_paused',
      'upstream_timeout',
    ],
    example: { model: 'sandbox-1', previous_response_id: 'resp_…' },
    async handle(ctx, { principal, request, reply }) {
      const left = abortOnLeaving(reply)
      const body = await checkCompaction(request.body, left.signal)
      const call = { principal, request_id: request.id, body, lease: request.lease! }
      const { compacted, dropped_items } = await compact(ctx, deps, call, left.signal)
      nameDropped(reply, { items: dropped_items })
      return compacted
    },
  })
}
