import type { ChatRequest, ChatResponseFormat, ChatTool, ChatToolChoice } from '../contract.ts'
import { encodeMessages } from './encode-messages.ts'
import type { CallOptions, Tool } from './model.ts'
import { refused } from './refused.ts'

/** One request as the AI SDK takes it. Throws EngineError `rejected` that names the field when there is no place for it. */
export function encodeRequest(request: ChatRequest, provider_options: CallOptions['providerOptions']): CallOptions {
  refuseForeign(request)
  const { reasoning_effort } = request
  if (reasoning_effort !== undefined && !EFFORTS.has(reasoning_effort))
    throw refused(`reasoning_effort: must be one of ${[...EFFORTS].join(', ')}.`)
  return withoutAbsent({
    prompt: encodeMessages(request.messages),
    maxOutputTokens: request.max_tokens,
    temperature: request.temperature,
    stopSequences: request.stop,
    topP: request.top_p,
    topK: request.top_k,
    presencePenalty: request.presence_penalty,
    frequencyPenalty: request.frequency_penalty,
    responseFormat: encodeFormat(request.response_format),
    seed: request.seed,
    tools: encodeTools(request.tools, request.tool_choice),
    toolChoice: encodeChoice(request.tool_choice),
    reasoning: reasoning_effort,
    providerOptions: provider_options,
  }) as CallOptions
}

const EFFORTS = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])

function refuseForeign(request: ChatRequest): void {
  const { min_p, repetition_penalty, logprobs, top_logprobs, logit_bias, parallel_tool_calls, extra } = request
  const fields = {
    min_p: min_p !== undefined,
    repetition_penalty: repetition_penalty !== undefined,
    logprobs: logprobs === true,
    top_logprobs: top_logprobs !== undefined,
    logit_bias: logit_bias !== undefined && Object.keys(logit_bias).length > 0,
    parallel_tool_calls: parallel_tool_calls === false,
    ...Object.fromEntries(Object.keys(extra ?? {}).map((name) => [name, true])),
  }
  const foreign = Object.entries(fields).find(([, used]) => used)?.[0]
  if (foreign !== undefined) throw refused(`${foreign}: is not supported by this model.`)
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
    ...(strict === undefined ? {} : { strict }),
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
