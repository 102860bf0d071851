import { argumentsOf } from '../call-arguments.ts'
import type { ChatRequest, ChatResponseFormat, ChatTool, ChatToolChoice } from '../contract.ts'
import { sentSampling } from '../sampling.ts'
import { orderedMessages } from '../system-messages.ts'
import { encodeMessages } from './encode-messages.ts'
import type { CallOptions, Tool } from './model.ts'
import { refused } from './refused.ts'

/** One request as the AI SDK takes it. Throws EngineError `rejected` that names the field when there is no place for it. `signal`: see `argumentsOf`. */
export async function encodeCallOptions(
  request: ChatRequest,
  options: { package: string; provider_options?: ProviderOptions; system_messages?: 'merged' | 'separate' },
  signal: AbortSignal,
): Promise<CallOptions> {
  const oneCall = request.parallel_tool_calls === false ? ONE_CALL.get(options.package) : undefined
  refuseForeign(request)
  const { reasoning_effort } = request
  if (reasoning_effort !== undefined && !EFFORTS.has(reasoning_effort))
    throw refused('reasoning_effort', `must be one of ${[...EFFORTS].join(', ')}.`)
  const messages = orderedMessages(request.messages, {
    system_messages: options.system_messages ?? 'merged',
    assistant_after_tool: options.package === '@ai-sdk/mistral',
    reasoning: false,
  })
  const sampling = sentSampling(request)
  return withoutAbsent({
    prompt: encodeMessages(messages, await argumentsOf(request.messages, signal)),
    maxOutputTokens: request.max_tokens,
    temperature: sampling.temperature,
    stopSequences: request.stop,
    // Anthropic's models take one of the two.
    topP: sampling.top_p === 1 && sampling.temperature !== undefined ? undefined : sampling.top_p,
    topK: sampling.top_k,
    presencePenalty: sampling.presence_penalty,
    frequencyPenalty: sampling.frequency_penalty,
    responseFormat: encodeFormat(request.response_format),
    seed: request.seed,
    tools: encodeTools(request.tools, request.tool_choice),
    toolChoice: encodeChoice(request.tool_choice),
    reasoning: reasoning_effort,
    providerOptions: oneCall ? withOptions(options.provider_options, oneCall) : options.provider_options,
  }) as CallOptions
}

/** The options of providers by which a model makes one tool call at a time. With others a model may make several. */
const ONE_CALL: ReadonlyMap<string, ProviderOptions> = new Map([
  ['@ai-sdk/anthropic', { anthropic: { disableParallelToolUse: true } }],
])
type ProviderOptions = NonNullable<CallOptions['providerOptions']>

function withOptions(own: ProviderOptions = {}, more: ProviderOptions): ProviderOptions {
  const joined = Object.entries(more).map(([name, each]) => [name, { ...own[name], ...each }])
  return { ...own, ...Object.fromEntries(joined) }
}

const EFFORTS = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])

/**
 * `min_p` and `repetition_penalty`, which the AI SDK does not have, are ignored. So is `parallel_tool_calls`: Codex sends `false` to every
 * model that it does not know. Source: contract 9.1.
 */
function refuseForeign(request: ChatRequest): void {
  const { logprobs, top_logprobs, logit_bias, extra } = request
  const fields = {
    logprobs: logprobs === true,
    top_logprobs: top_logprobs !== undefined,
    logit_bias: logit_bias !== undefined && Object.keys(logit_bias).length > 0,
    ...Object.fromEntries(Object.keys(extra ?? {}).map((name) => [name, true])),
  }
  const foreign = Object.entries(fields).find(([, used]) => used)?.[0]
  if (foreign !== undefined) throw refused(foreign, 'is not supported by this model.')
}

function encodeFormat(format: ChatResponseFormat | undefined): CallOptions['responseFormat'] {
  if (format === undefined || format.type === 'text') return undefined
  if (format.type === 'json_object') return { type: 'json' }
  const { schema, name, description } = format.json_schema
  return {
    type: 'json',
    name,
    ...(schema === undefined ? {} : { schema }),
    ...(description === undefined ? {} : { description }),
  }
}

/** `allowed_tools` is a shorter list of tools. */
function encodeTools(tools: readonly ChatTool[] | undefined, choice: ChatToolChoice | undefined): Tool[] | undefined {
  if (tools === undefined || tools.length === 0) return undefined
  const allowed =
    typeof choice === 'object' && choice.type === 'allowed_tools'
      ? new Set(choice.allowed_tools.tools.map((tool) => tool.function.name))
      : null
  const listed = tools.filter((tool) => allowed === null || allowed.has(tool.function.name))
  return listed.map(({ function: { name, description, parameters, strict } }) => ({
    type: 'function',
    name,
    inputSchema: parameters ?? { type: 'object', properties: {} },
    ...(description === undefined ? {} : { description }),
    ...(strict === true ? { strict } : {}),
  }))
}

function encodeChoice(choice: ChatToolChoice | undefined): CallOptions['toolChoice'] {
  if (choice === undefined) return undefined
  if (typeof choice === 'string') return { type: choice }
  return choice.type === 'function'
    ? { type: 'tool', toolName: choice.function.name }
    : { type: choice.allowed_tools.mode }
}

function withoutAbsent(options: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}
