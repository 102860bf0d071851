import type { ChatModelConfig } from '../../config/config.ts'
import type { Context } from '../../context.ts'
import { unixSeconds } from '../../platform/clock.ts'
import { newResponseId } from '../ids.ts'
import type { CreateResponse, ResponseObject, TextFormat } from '../schema/response.ts'
import { effortOf } from './engine-request.ts'
import type { PreparedCall } from './prepare.ts'

/**
 * A response of which nothing is known but the request: `queued` when it is to be made in the background. Every member of contract 10.7
 * is present from the start.
 */
export function newResponse(
  ctx: Pick<Context, 'clock'>,
  body: CreateResponse,
  { model, tools }: Pick<PreparedCall, 'model' | 'tools'>,
): ResponseObject {
  const status = body.background ? 'queued' : 'in_progress'
  const created_at = unixSeconds(ctx.clock.now())
  return {
    ...{ id: newResponseId(), object: 'response', created_at, completed_at: null, status },
    ...{ incomplete_details: null, error: null, model: body.model },
    previous_response_id: body.previous_response_id ?? null,
    instructions: body.instructions ?? null,
    ...{ output: [], ...tools.echo },
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

/** Of a model that does not reason nothing is echoed of what was asked about it. */
function reasoningView(body: CreateResponse, model: ChatModelConfig): ResponseObject['reasoning'] {
  const reasons = model.reasoning_efforts.length > 0 || model.capabilities.includes('reasoning')
  return reasons
    ? { effort: effortOf(body, model), summary: body.reasoning?.summary ?? null }
    : { effort: null, summary: null }
}
