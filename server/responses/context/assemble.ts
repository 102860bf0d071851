import type { TurnRequest } from '../../chat/turn.ts'
import type { ChatModelConfig } from '../../config/config.ts'
import type { Context } from '../../context.ts'
import type { ChatEngine, ChatRequest } from '../../engines/chat/contract.ts'
import type { Served } from '../../engines/registry.ts'
import { giveWay } from '../../platform/turns.ts'
import { engineRequest } from '../request/engine-request.ts'
import { type ForwardedTools, forwardTools } from '../request/tools.ts'
import type { ContextItem } from '../schema/items.ts'
import type { CreateResponse } from '../schema/response.ts'
import { countInput } from './count.ts'
import { mediaOf } from './draft-parts.ts'
import { draftItems, sketchItems } from './drafts.ts'
import { type Fitting, fitContext } from './fit.ts'
import { learnedLength, learnLength } from './learned-length.ts'
import { joinDrafts } from './messages.ts'
import { findAnswers, requirePairs } from './pairing.ts'

/** A request for a response, checked, with its effective context: what went before and the new input, oldest first. */
export type WantedAnswer = {
  org_id: string
  model: ChatModelConfig
  served: Served<ChatEngine>
  body: CreateResponse
  context: readonly ContextItem[]
}

/**
 * What the engine is asked for a response: every call has its output, tools are functions, files are resolved, the context is as long as
 * the model takes it. Throws ApiError 400 with the path of the item at fault. Source: contract 10.3 to 10.6 and 13.
 */
export async function assembleRequest(
  ctx: Context,
  wanted: WantedAnswer,
  left: AbortSignal,
): Promise<AssembledRequest> {
  const { served, body } = wanted
  const model = { ...wanted.model, context_length: wanted.model.context_length ?? lengthOf(wanted) }
  requirePairs(wanted.context)
  await giveWay(wanted.context.length)
  const tools = forwardTools(body)
  const work = { org_id: wanted.org_id, model, engine: served.engine, nameOf: tools.nameOf }
  const fitting = { model, engine: served.engine, body, build: builder(ctx, wanted, tools) }
  const context = await withoutLost(ctx, fitting, { work, context: wanted.context, left })
  const drafts = await draftItems(ctx, work, context, left)
  await giveWay(context.length)
  const { request } = await fitContext(fitting, { context, drafts }, left)
  await giveWay(context.length)
  const isLearned = body.truncation === 'auto' && wanted.model.context_length === null
  return { request, tools, ...(isLearned && { shorten: shortener(ctx, wanted, { request, left }) }) }
}

/** `shorten` where the context may be cut and how long it may be is not configured: the model's server says it when it refuses. */
export type AssembledRequest = { request: ChatRequest; tools: ForwardedTools; shorten?: TurnRequest['shorten'] }

function lengthOf({ org_id, served, body }: WantedAnswer): number | null {
  return body.truncation === 'auto' ? learnedLength(org_id, served) : null
}

/** Drops the oldest items by what the server has said. It counts more than the estimate at times, so the limit is brought to its scale. */
function shortener(
  ctx: Context,
  wanted: WantedAnswer,
  { request, left }: { request: ChatRequest; left: AbortSignal },
): NonNullable<TurnRequest['shorten']> {
  return async ({ limit, asked, input = asked }) => {
    learnLength(wanted.org_id, wanted.served, limit)
    const estimate = await countInput(wanted.served.engine, request, left)
    const context_length = Math.max(1, Math.floor(limit * Math.min(1, estimate / Math.max(1, input))))
    const shorter = await assembleRequest(ctx, { ...wanted, model: { ...wanted.model, context_length } }, left)
    return shorter.request
  }
}

function builder(
  { secret }: Pick<Context, 'secret'>,
  { model, served, body }: WantedAnswer,
  tools: ForwardedTools,
): Fitting['build'] {
  return ({ context, drafts }) => {
    const answers = findAnswers(context.map(({ item }) => item))
    const messages = joinDrafts(drafts, { instructions: body.instructions, answers })
    return engineRequest(body, { model, engine_model: served.model, messages, tools, secret })
  }
}

/**
 * The context without what would be dropped whatever its files turn out to hold, so that they need not be read: a long conversation may
 * have more pictures than one request can bring.
 */
async function withoutLost(
  ctx: Context,
  fitting: Fitting,
  {
    work,
    context,
    left,
  }: { work: Parameters<typeof sketchItems>[1]; context: readonly ContextItem[]; left: AbortSignal },
): Promise<readonly ContextItem[]> {
  const { model, body, engine } = fitting
  if (body.truncation !== 'auto' || model.context_length === null || engine.countTokens) return context
  if (mediaOf(context).length === 0) return context
  const { drafted } = await fitContext(fitting, { context, drafts: sketchItems(ctx, work, context) }, left)
  return drafted.context
}
