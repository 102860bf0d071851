import { commonParameters, type FieldNames, type ModelParameters } from '../../chat/request.ts'
import type { ChatModelConfig } from '../../config/config.ts'
import type { ChatResponseFormat } from '../../engines/chat/contract.ts'
import type { CreateResponse, TextFormat } from '../schema/response.ts'
import { type ForwardedTools, forwardTools } from './tools.ts'

/** What the engine is asked besides the conversation. */
export type EngineSettings = { tools: ForwardedTools; parameters: ModelParameters }

/** The tools and parameters of a response in the words of the engine. Throws ApiError 400 for tools that do not fit together. */
export function engineSettings(body: CreateResponse, model: ChatModelConfig): EngineSettings {
  const tools = forwardTools(body)
  return { tools, parameters: responseParameters(body, { model, tools }) }
}

/** The parameters of a response in the words of the engine. Source: contract 13. */
function responseParameters(
  body: CreateResponse,
  { model, tools }: { model: ChatModelConfig; tools: Pick<ForwardedTools, 'tools' | 'tool_choice'> },
): ModelParameters {
  const logprobs = body.include?.includes('message.output_text.logprobs')
  const format = body.text?.format
  return {
    ...commonParameters(body),
    n: 1,
    max_tokens: body.max_output_tokens,
    reasoning_effort: askedEffort(body, model),
    response_format: format === undefined || format.type === 'text' ? undefined : formatOf(format),
    ...(logprobs && { logprobs, top_logprobs: body.top_logprobs }),
    ...(tools.tools.length > 0 && {
      tools: tools.tools,
      tool_choice: tools.tool_choice,
      parallel_tool_calls: body.parallel_tool_calls,
    }),
  }
}

/** What a response calls the fields of the engine's request. */
export const RESPONSE_NAMES: FieldNames = {
  messages: 'input',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  reasoning_effort: 'reasoning.effort',
  response_format: 'text.format',
  logprobs: 'include',
  verbosity: 'text.verbosity',
  tools: 'tools',
  tool_choice: 'tool_choice',
}

/** The effort that is asked for, or else the model's own. */
export function effortOf(body: CreateResponse, model: ChatModelConfig): string | null {
  return askedEffort(body, model) ?? model.default_reasoning_effort
}

/** Clients send an effort to every model; models that do not reason ignore it. */
function askedEffort({ reasoning }: CreateResponse, { reasoning_efforts }: ChatModelConfig): string | undefined {
  return reasoning_efforts.length > 0 ? reasoning?.effort : undefined
}

function formatOf(format: TextFormat): ChatResponseFormat {
  if (format.type !== 'json_schema') return { type: format.type }
  const { name, description, schema, strict } = format
  return {
    type: 'json_schema',
    json_schema: {
      name,
      schema,
      ...(description !== undefined && { description }),
      ...(strict !== undefined && { strict }),
    },
  }
}
