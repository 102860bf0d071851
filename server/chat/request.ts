import { createHmac } from 'node:crypto'
import type { ChatModelConfig } from '../config/config.ts'
import { EXTRA_PARAMS } from '../config/models.ts'
import type { ChatMessage, ChatRequest } from '../engines/chat/contract.ts'
import type { ChatBody } from './schema.ts'

/** The parameters of a request as the engine names them, whichever route the client uses. */
export type ModelParameters = Omit<ChatRequest, 'model' | 'messages' | 'user' | 'extra'>

/** The names that a route has for fields of the engine's request, where they differ. A field by such a name has no path within it. */
export type FieldNames = Readonly<Record<string, string>>

/** The parameters of a chat completion. */
export function chatParameters(body: ChatBody): ModelParameters {
  const { min_p, logprobs, top_logprobs, logit_bias, response_format, reasoning_effort } = body
  return {
    ...commonParameters(body),
    n: body.n ?? 1,
    min_p,
    logprobs,
    top_logprobs: logprobs ? top_logprobs : undefined,
    reasoning_effort,
    max_tokens: body.max_completion_tokens ?? body.max_tokens,
    logit_bias: logit_bias && Object.keys(logit_bias).length > 0 ? logit_bias : undefined,
    response_format: response_format?.type === 'text' ? undefined : response_format,
    ...(body.tools?.length && {
      tools: body.tools,
      tool_choice: body.tool_choice ?? 'auto',
      parallel_tool_calls: body.parallel_tool_calls,
    }),
  }
}

/** What a chat completion calls the limit of its answer. */
export function chatNames({ max_tokens, max_completion_tokens }: ChatBody): FieldNames {
  return max_tokens != null && max_completion_tokens == null ? NAMES_OLD : NAMES_NEW
}

const NAMES_OLD: FieldNames = { max_completion_tokens: 'max_tokens' }
const NAMES_NEW: FieldNames = { max_tokens: 'max_completion_tokens' }

/** The name of a field of the engine's request on the route that the client used. */
export function fieldName(path: string, names: FieldNames): string {
  const root = /^\w*/.exec(path)![0]
  return Object.hasOwn(names, root) ? names[root]! : path
}

type Common = Pick<
  ChatBody,
  | ('stream' | 'stop' | 'seed' | 'temperature' | 'top_p')
  | ('top_k' | 'repetition_penalty' | 'frequency_penalty' | 'presence_penalty')
>

/** The parameters that both routes call the same. */
export function commonParameters(body: Common): Omit<ModelParameters, 'n'> {
  const { temperature, top_p, top_k, repetition_penalty, frequency_penalty, presence_penalty, seed } = body
  const stop = [body.stop ?? []].flat().filter((text) => text !== '')
  return {
    stream: body.stream ?? false,
    temperature,
    top_p,
    top_k,
    repetition_penalty,
    frequency_penalty,
    presence_penalty,
    seed,
    stop: stop.length > 0 ? stop : undefined,
  }
}

/**
 * The request for the engine, member by member: it gets only the members named here and those that the model's configuration passes on. It
 * has no limit of the answer unless the client set one: see `limitAnswer`. Source: contract 9.1, 13.
 */
export function engineRequest(
  parameters: ModelParameters,
  { body, model, engine_model, messages, secret }: RequestParts,
): ChatRequest {
  return {
    model: engine_model,
    messages,
    ...parameters,
    reasoning_effort: parameters.reasoning_effort ?? model.default_reasoning_effort ?? undefined,
    ...userAndExtras(body, { model, secret }),
  }
}

/** `body`: the client's, for what is passed on under its own name. */
type RequestParts = {
  body: { user?: string; [member: string]: unknown }
  model: ChatModelConfig
  engine_model: string
  messages: ChatMessage[]
  secret: string
}

/** The end user, hashed if the model's configuration says so, and the members that it passes on unchanged. */
function userAndExtras(
  body: RequestParts['body'],
  { model, secret }: Pick<RequestParts, 'model' | 'secret'>,
): Pick<ChatRequest, 'user' | 'extra'> {
  const { user } = body
  const extra = extraParams(body, model)
  return {
    ...(user === undefined ? {} : { user: model.hash_user ? hashed(secret, user) : user }),
    ...(extra ? { extra: model.hash_user ? withHashedIdentifier(extra, secret) : extra } : {}),
  }
}

/** Members of the body that the model's configuration passes on unchanged. */
export function extraParams(
  body: Record<string, unknown>,
  model: Pick<ChatModelConfig, 'extra_params'>,
): Record<string, unknown> | undefined {
  if (model.extra_params.length === 0) return undefined
  const names = EXTRA_PARAMS.filter((name) => model.extra_params.includes(name) && body[name] != null)
  return names.length > 0 ? Object.fromEntries(names.map((name) => [name, body[name]])) : undefined
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
