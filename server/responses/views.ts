import type { ChatModelConfig } from '../platform/config.ts'
import { newResponseId } from './ids.ts'
import type { CreateResponse, ResponseObject, TextFormat } from './schema.ts'
import type { EchoedTool, ToolChoiceView } from './schema-tools.ts'

/** What a response echoes of its request, beside what the body says as it is. */
export type ResponseHead = {
  body: CreateResponse
  model: ChatModelConfig
  tools: EchoedTool[]
  tool_choice: ToolChoiceView
  /** Unix seconds. */
  created_at: number
  status: 'queued' | 'in_progress'
}

/** A response of which nothing is known but the request. Every member of contract 10.7 is present from the start. */
export function newResponse(head: ResponseHead): ResponseObject {
  const { body, model, tools, tool_choice, created_at, status } = head
  return {
    ...{ id: newResponseId(), object: 'response', created_at, completed_at: null, status },
    ...{ incomplete_details: null, error: null, model: body.model },
    previous_response_id: body.previous_response_id ?? null,
    instructions: body.instructions ?? null,
    ...{ output: [], tools, tool_choice },
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    truncation: body.truncation ?? 'disabled',
    text: textView(body),
    reasoning: reasoningView(body, model),
    temperature: body.temperature ?? 1,
    top_p: body.top_p ?? 1,
    presence_penalty: body.presence_penalty ?? 0,
    frequency_penalty: body.frequency_penalty ?? 0,
    top_logprobs: body.top_logprobs ?? 0,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    store: body.store ?? true,
    background: body.background ?? false,
    service_tier: 'default',
    metadata: body.metadata ?? {},
    safety_identifier: body.safety_identifier ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    user: body.user ?? null,
    usage: null,
  }
}

function textView({ text }: CreateResponse): ResponseObject['text'] {
  const format = formatView(text?.format ?? { type: 'text' })
  return text?.verbosity === undefined ? { format } : { format, verbosity: text.verbosity }
}

function formatView(format: TextFormat): ResponseObject['text']['format'] {
  if (format.type !== 'json_schema') return { type: format.type }
  const { type, name, schema } = format
  return { type, name, description: format.description ?? null, schema, strict: format.strict ?? false }
}

/** Of a model that does not reason what was asked about it is ignored, so nothing of it is echoed. */
function reasoningView({ reasoning }: CreateResponse, model: ChatModelConfig): ResponseObject['reasoning'] {
  if (model.reasoning_efforts.length === 0) return { effort: null, summary: null }
  return { effort: reasoning?.effort ?? model.default_reasoning_effort, summary: reasoning?.summary ?? null }
}
