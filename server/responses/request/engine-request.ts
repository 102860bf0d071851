import { userAndExtras } from '../../chat/request.ts'
import type { ChatModelConfig } from '../../config/config.ts'
import type { ChatMessage, ChatRequest, ChatResponseFormat } from '../../engines/chat/contract.ts'
import type { CreateResponse, TextFormat } from '../schema/response.ts'
import type { ForwardedTools } from './tools.ts'

/**
 * The request for the engine, member by member: it gets only the members named here and those that the model's configuration passes on. Source: contract 13.
 */
export function engineRequest(
  body: CreateResponse,
  options: {
    model: ChatModelConfig
    engine_model: string
    messages: ChatMessage[]
    tools: Pick<ForwardedTools, 'tools' | 'tool_choice'>
    secret: string
  },
): ChatRequest {
  const { model, messages, tools, secret } = options
  const { temperature, top_p, top_k, repetition_penalty, frequency_penalty, presence_penalty, seed } = body
  const request: ChatRequest = {
    model: options.engine_model,
    messages,
    n: 1,
    stream: body.stream ?? false,
    ...{ temperature, top_p, top_k, repetition_penalty, frequency_penalty, presence_penalty, seed },
    max_tokens: body.max_output_tokens ?? model.max_output_tokens ?? undefined,
  }
  if (body.include?.includes('message.output_text.logprobs')) {
    request.logprobs = true
    if (body.top_logprobs !== undefined) request.top_logprobs = body.top_logprobs
  }
  if (body.stop !== undefined) request.stop = typeof body.stop === 'string' ? [body.stop] : body.stop
  const format = body.text?.format
  if (format && format.type !== 'text') request.response_format = formatOf(format)
  if (tools.tools.length > 0) {
    request.tools = tools.tools
    request.tool_choice = tools.tool_choice
    request.parallel_tool_calls = body.parallel_tool_calls
  }
  const effort = effortOf(body, model)
  if (effort !== null) request.reasoning_effort = effort
  return Object.assign(request, userAndExtras({ ...body, verbosity: body.text?.verbosity }, { model, secret }))
}

/** A model that does not reason ignores the client's effort. */
export function effortOf({ reasoning }: CreateResponse, model: ChatModelConfig): string | null {
  const wanted = model.reasoning_efforts.length > 0 ? reasoning?.effort : undefined
  return wanted ?? model.default_reasoning_effort
}

function formatOf(format: TextFormat): ChatResponseFormat {
  if (format.type !== 'json_schema') return format
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
