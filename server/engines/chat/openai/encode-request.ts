import { writeJson } from '../../../platform/json/write.ts'
import type { ChatRequest } from '../contract.ts'
import { encodeMessage, type MessageForm } from './encode-messages.ts'
import { encodeTools } from './encode-tools.ts'

/** What differs between servers in how a request is written. */
export type RequestForm = MessageForm & { max_tokens_field: 'max_completion_tokens' | 'max_tokens' }

/**
 * The body of `POST /chat/completions`: members of the contract, each by its name, and nothing else of what the client sent.
 * `extra` never replaces one of them. What is long is a promise of its pieces. Source: docs/api/chat.md, parameters; docs/engines.md, chat servers.
 */
export function encodeRequest(
  request: ChatRequest,
  form: RequestForm,
  upstream: { model: string; stream: boolean },
): string | Promise<readonly Buffer[]> {
  const { max_tokens } = request
  const body: Record<string, unknown> = {
    model: upstream.model,
    messages: request.messages.map((message) => encodeMessage(message, form)),
    stream: upstream.stream,
    stream_options: upstream.stream ? { include_usage: true } : undefined,
    n: request.n > 1 ? request.n : undefined,
    temperature: request.temperature,
    top_p: request.top_p,
    top_k: request.top_k,
    min_p: request.min_p,
    repetition_penalty: request.repetition_penalty,
    frequency_penalty: request.frequency_penalty,
    presence_penalty: request.presence_penalty,
    seed: request.seed,
    stop: request.stop,
    max_completion_tokens: form.max_tokens_field === 'max_completion_tokens' ? max_tokens : undefined,
    max_tokens: form.max_tokens_field === 'max_tokens' ? max_tokens : undefined,
    logprobs: request.logprobs,
    top_logprobs: request.top_logprobs,
    logit_bias: request.logit_bias,
    response_format: request.response_format === undefined ? undefined : encodeFormat(request.response_format),
    reasoning_effort: request.reasoning_effort,
    user: request.user,
    tools: undefined,
    tool_choice: undefined,
    parallel_tool_calls: undefined,
  }
  if (request.tools !== undefined && request.tools.length > 0) Object.assign(body, encodeTools(request.tools, request))
  for (const [name, value] of Object.entries(request.extra ?? {})) {
    if (!Object.hasOwn(body, name) && name !== '__proto__') body[name] = value
  }
  return writeJson(body)
}

function encodeFormat(format: NonNullable<ChatRequest['response_format']>): object {
  if (format.type !== 'json_schema') return { type: format.type }
  const { name, description, schema, strict } = format.json_schema
  return { type: 'json_schema', json_schema: { name, description, schema, strict } }
}
