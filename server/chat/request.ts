import { createHmac } from 'node:crypto'
import type { ChatModelConfig } from '../config/config.ts'
import type { ChatMessage, ChatRequest } from '../engines/chat/contract.ts'
import { extraParams } from './check.ts'
import type { ChatBody } from './schema.ts'

/**
 * The request for the engine, member by member: it gets only the members named here and those that the model's configuration passes on.
 */
export function engineRequest(
  body: ChatBody,
  options: { model: ChatModelConfig; engine_model: string; messages: ChatMessage[]; secret: string },
): ChatRequest {
  const { model, messages, secret } = options
  const { temperature, top_p, top_k, min_p, repetition_penalty, frequency_penalty, presence_penalty } = body
  const { seed, logprobs, top_logprobs, parallel_tool_calls, response_format } = body
  const request: ChatRequest = {
    model: options.engine_model,
    messages,
    n: body.n ?? 1,
    stream: body.stream ?? false,
    ...{ temperature, top_p, top_k, min_p, repetition_penalty, frequency_penalty, presence_penalty },
    ...{ seed, logprobs, top_logprobs },
    // The newer name wins; a model's own limit holds where the client sets none.
    max_tokens: body.max_completion_tokens ?? body.max_tokens ?? model.max_output_tokens ?? undefined,
  }
  if (body.stop !== undefined) request.stop = typeof body.stop === 'string' ? [body.stop] : body.stop
  if (body.logit_bias) request.logit_bias = body.logit_bias
  if (response_format && response_format.type !== 'text') request.response_format = response_format
  if (body.tools?.length) {
    request.tools = body.tools
    request.tool_choice = body.tool_choice ?? 'auto'
    request.parallel_tool_calls = parallel_tool_calls
  }
  const effort = body.reasoning_effort ?? model.default_reasoning_effort
  if (effort !== null) request.reasoning_effort = effort
  return Object.assign(request, userAndExtras(body, { model, secret }))
}

/** The end user, hashed if the model's configuration says so, and the members that it passes on unchanged. */
export function userAndExtras(
  body: { user?: string; [member: string]: unknown },
  { model, secret }: { model: ChatModelConfig; secret: string },
): Pick<ChatRequest, 'user' | 'extra'> {
  const { user } = body
  const extra = extraParams(body, model)
  return {
    ...(user === undefined ? {} : { user: model.hash_user ? hashed(secret, user) : user }),
    ...(extra ? { extra: model.hash_user ? withHashedIdentifier(extra, secret) : extra } : {}),
  }
}

function withHashedIdentifier(extra: Record<string, unknown>, secret: string): Record<string, unknown> {
  const { safety_identifier } = extra
  return typeof safety_identifier === 'string'
    ? { ...extra, safety_identifier: hashed(secret, safety_identifier) }
    : extra
}

/** The model server can distinguish end users but not identify them. */
function hashed(secret: string, user: string): string {
  return createHmac('sha256', `end-user:${secret}`).update(user).digest('hex').slice(0, 32)
}
