import { entitledChatModel } from '../../catalog/entitlements.ts'
import type { ChatModelConfig } from '../../config/config.ts'
import type { Context } from '../../context.ts'
import type { ChatEngine } from '../../engines/chat/contract.ts'
import { unixSeconds } from '../../platform/clock.ts'
import type { ResponseCall, ResponseDeps } from '../call.ts'
import { type AnswerRequest, type AssembledRequest, assembleRequest } from '../context/assemble.ts'
import { summaryRequest } from '../context/compact.ts'
import { loadContext } from '../context/load.ts'
import { newResponseId } from '../ids.ts'
import type { ContextItem, Item } from '../schema/items.ts'
import type { CreateResponse, ResponseObject, TextFormat } from '../schema/response.ts'
import { requireRoom } from '../stored/save.ts'
import { checkResponseForModel } from './check/body.ts'
import { effortOf } from './engine-request.ts'
import { asksForCompaction } from './normalize-input.ts'
import type { ForwardedTools } from './tools.ts'

/** A call that has passed every check: only the model itself can still reject it. */
export type PreparedCall = {
  model: ChatModelConfig
  engine: ChatEngine
  /** What the engine is asked; null for a call that asks for no answer. */
  exchange: AssembledRequest['exchange'] | null
  tools: ForwardedTools
  /** The answer is a summary, for a compaction of the context. */
  compacts: boolean
  /** Types of items that the model is not sent. */
  dropped_items: readonly string[]
  history: readonly Item[]
  input: readonly Item[]
}

/**
 * Checks everything that can be checked before the model is asked, in the order of the contract: the model, the previous response and
 * referenced items, the capabilities of the model, the balance, room for what is stored and for a background response, then files and the
 * length of the context. Throws ApiError.
 */
export async function prepareCall(
  ctx: Context,
  { meter, storage, lengths }: ResponseDeps,
  call: ResponseCall,
  left: AbortSignal,
): Promise<PreparedCall> {
  const { principal, body, lease } = call
  const { org_id } = principal
  if (!call.queued) ctx.switches.requireIntake()
  const model = entitledChatModel(ctx.config, principal.plan, body.model)
  const served = ctx.engines.chat.get(model.id)!
  const { history, input, context, skipped } = await loadContext(ctx, call, left)
  const asking = requestOf(body, context, model)
  // Before files are fetched and rendered for the caller.
  const admitted = meter.admit(org_id)
  if (admitted) await admitted
  const room = body.store === false || call.queued ? undefined : storage.requireRoom(ctx.config, principal)
  if (room) await room
  if (body.background && !call.queued) await requireRoom(ctx, principal, { added: 1 })
  const prepared = {
    model,
    engine: served.engine,
    tools: asking.settings.tools,
    compacts: asksForCompaction(body.input),
    history,
    input,
  }
  if (call.generate === false) return { ...prepared, exchange: null, dropped_items: skipped }
  const asked = { org_id, model, served, lease, skipped, lengths, ...asking }
  const { exchange, dropped_items } = await assembleRequest(ctx, asked, left)
  exchange.request.stream = !call.plain
  return { ...prepared, exchange, dropped_items }
}

/** What the model is asked: to answer, or for a summary of the context. Throws ApiError 400. */
export function requestOf(
  body: CreateResponse,
  context: readonly ContextItem[],
  model: ChatModelConfig,
): Pick<AnswerRequest, 'body' | 'context' | 'settings'> {
  if (asksForCompaction(body.input)) return summaryRequest(body, context, model)
  return { body, context, settings: checkResponseForModel(body, context, model) }
}

/**
 * The response object at the start: `queued` when it is to be made in the background. Every member of contract 10.7 is present.
 */
export function newResponse(
  ctx: Pick<Context, 'clock'>,
  body: CreateResponse,
  { model, tools }: Pick<PreparedCall, 'model' | 'tools'>,
): ResponseObject {
  const status = body.background ? 'queued' : 'in_progress'
  const created_at = unixSeconds(ctx.clock.now())
  return {
    id: newResponseId(),
    object: 'response',
    created_at,
    completed_at: null,
    status,
    incomplete_details: null,
    error: null,
    model: body.model,
    previous_response_id: body.previous_response_id ?? null,
    instructions: body.instructions ?? null,
    output: [],
    ...tools.echo,
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

/** For a model that does not reason, the request's `reasoning` is not echoed. */
function reasoningView(body: CreateResponse, model: ChatModelConfig): ResponseObject['reasoning'] {
  const reasons = model.reasoning_efforts.length > 0 || model.capabilities.includes('reasoning')
  return reasons
    ? { effort: effortOf(body, model), summary: body.reasoning?.summary ?? null }
    : { effort: null, summary: null }
}
