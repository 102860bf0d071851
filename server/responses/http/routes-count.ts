import Type from 'typebox'
import type { Meter } from '../../billing/meter.ts'
import { entitledChatModel } from '../../catalog/entitlements.ts'
import { type Endpoint, endpoint } from '../../identity/caller/endpoint.ts'
import { abortOnLeaving } from '../../platform/http/abort-on-disconnect.ts'
import { assembleRequest } from '../context/assemble.ts'
import { countInput } from '../context/count.ts'
import { loadContext } from '../context/load.ts'
import { checkBody, checkForModel } from '../request/check.ts'
import { CreateResponse } from '../schema/response.ts'

const InputTokens = Type.Object({ object: Type.Literal('response.input_tokens'), input_tokens: Type.Integer() })

/** Counting the input of a response that is not made. It costs nothing, but files are fetched and drawn for it: `meter` admits. */
export const countEndpoints = (meter: Meter): readonly Endpoint[] => [
  endpoint({
    method: 'POST',
    path: '/v1/responses/input_tokens',
    auth: 'api_key_or_session',
    summary: 'Count the input tokens of a response without making it',
    body: CreateResponse,
    body_check: 'handler',
    response: InputTokens,
    errors: ['insufficient_credits', 'model_not_found', 'previous_response_not_found', 'item_not_found'],
    example: { model: 'sandbox-1', input: 'Say hello.' },
    async handle(ctx, { principal, request, reply }) {
      const body = checkBody(request.body)
      const model = entitledChatModel(ctx.config, principal.plan, body.model)
      const served = ctx.engines.chat.get(model.id)!
      checkForModel(body, model)
      const left = abortOnLeaving(reply).signal
      const { context } = await loadContext(ctx, principal, body)
      const admitted = meter.admit(principal.org_id)
      if (admitted) await admitted
      const wanted = { org_id: principal.org_id, model, served, body, context }
      const { request: asked } = await assembleRequest(ctx, wanted, left)
      return { object: 'response.input_tokens', input_tokens: await countInput(served.engine, asked, left) }
    },
  }),
]
