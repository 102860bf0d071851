import { writeJson } from '../../../platform/json/write.ts'
import { withObjectArguments } from '../call-arguments.ts'
import type { ChatMessage, ChatRequest, ChatTool, ChatToolChoice } from '../contract.ts'
import { sentSampling } from '../sampling.ts'
import { orderedMessages } from '../system-messages.ts'
import { encodeMessage } from './encode-messages.ts'
import type { RequestForm } from './form/request-form.ts'

/**
 * The body of `POST /chat/completions`: members of the contract, each by its name, and nothing else of what the client sent.
 * `extra` never replaces one of them. What is long is a promise of its pieces, until `signal` aborts. Source: docs/api/chat.md, parameters; docs/engines.md, chat servers.
 */
export function encodeRequest(
  request: ChatRequest,
  form: RequestForm,
  upstream: { model: string; stream: boolean },
  signal?: AbortSignal,
): string | Promise<string | readonly Buffer[]> {
  const messages = withObjectArguments(request.messages, signal)
  const write = (each: readonly ChatMessage[]) => writeJson(bodyOf(request, each, form, upstream), signal)
  return 'then' in messages ? messages.then<string | readonly Buffer[]>(write) : write(messages)
}

function bodyOf(
  request: ChatRequest,
  all: readonly ChatMessage[],
  form: RequestForm,
  upstream: { model: string; stream: boolean },
): Record<string, unknown> {
  const { max_tokens, logprobs } = request
  const messages = orderedMessages(all, { ...form, reasoning: form.reasoning_content_input })
  const body: Record<string, unknown> = {
    model: upstream.model,
    messages: messages.map((message) => encodeMessage(message, form)),
    stream: upstream.stream,
    stream_options: upstream.stream && !form.refused.has('stream_options') ? { include_usage: true } : undefined,
    n: request.n > 1 ? request.n : undefined,
    ...sentSampling(request, form.accepts),
    seed: request.seed,
    stop: request.stop,
    max_completion_tokens: form.max_tokens_field === 'max_completion_tokens' ? max_tokens : undefined,
    max_tokens: form.max_tokens_field === 'max_tokens' ? max_tokens : undefined,
    logprobs: logprobs === true ? true : undefined,
    top_logprobs: request.top_logprobs,
    logit_bias: request.logit_bias,
    response_format: request.response_format === undefined ? undefined : encodeFormat(request.response_format),
    reasoning_effort: request.reasoning_effort,
    user: request.user,
    tools: undefined,
    tool_choice: undefined,
    parallel_tool_calls: undefined,
  }
  if (request.tools !== undefined && request.tools.length > 0) {
    const { tool_choice, parallel_tool_calls } = request
    const choice = { tool_choice, ...(form.parallel_tool_calls && { parallel_tool_calls }) }
    Object.assign(body, encodeTools(request.tools, choice))
  }
  for (const [name, value] of Object.entries(request.extra ?? {})) {
    if (!Object.hasOwn(body, name) && name !== '__proto__') body[name] = value
  }
  return body
}

function encodeFormat(format: NonNullable<ChatRequest['response_format']>): object {
  if (format.type !== 'json_schema') return { type: format.type }
  const { name, description, schema, strict } = format.json_schema
  return { type: 'json_schema', json_schema: { name, description, schema, strict } }
}

/**
 * `tools`, `tool_choice` and `parallel_tool_calls`. A choice among allowed tools becomes those tools alone with its mode, which every
 * server understands.
 */
function encodeTools(
  tools: ChatTool[],
  { tool_choice, parallel_tool_calls }: Partial<Pick<ChatRequest, 'tool_choice' | 'parallel_tool_calls'>>,
): object {
  if (typeof tool_choice !== 'object' || tool_choice.type !== 'allowed_tools') {
    return { tools: tools.map(encodeTool), tool_choice: encodeChoice(tool_choice), parallel_tool_calls }
  }
  const { mode, tools: named } = tool_choice.allowed_tools
  const names = new Set(named.map((tool) => tool.function.name))
  const allowed = tools.filter((tool) => names.has(tool.function.name))
  if (allowed.length === 0) return {}
  return { tools: allowed.map(encodeTool), tool_choice: mode, parallel_tool_calls }
}

function encodeTool({ function: { name, description, parameters, strict } }: ChatTool): object {
  return { type: 'function', function: { name, description, parameters, strict } }
}

function encodeChoice(choice: Exclude<ChatToolChoice, { type: 'allowed_tools' }> | undefined): unknown {
  return typeof choice === 'object' ? { type: 'function', function: { name: choice.function.name } } : choice
}
