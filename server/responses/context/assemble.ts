import { type InputSize, limitAnswer } from '../../chat/count.ts'
import { engineRequest } from '../../chat/request.ts'
import type { ExchangeRequest } from '../../chat/request-completion.ts'
import type { ChatModelConfig } from '../../config/config.ts'
import type { Context } from '../../context.ts'
import type { ChatEngine } from '../../engines/chat/contract.ts'
import type { Served } from '../../engines/engine-entry.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Lease } from '../../platform/http/body/byte-budget.ts'
import { yieldAfter } from '../../platform/turns.ts'
import { type EngineSettings, RESPONSE_NAMES } from '../request/engine-request.ts'
import type { ContextItem } from '../schema/items.ts'
import type { CreateResponse } from '../schema/response.ts'
import { type DraftWork, draftItems, draftWithoutFiles, mediaOf } from './drafts.ts'
import { type Fitting, fitContext } from './fit.ts'
import type { ContextLengths } from './lengths.ts'
import { joinDrafts } from './messages.ts'
import { matchOutputs, requirePairs, withoutCutCalls } from './pairing.ts'

/** A checked request for a response, with its effective context: the history and the new input, oldest first. */
export type AnswerRequest = {
  org_id: string
  model: ChatModelConfig
  served: Served<ChatEngine>
  /** Of the request: counts the bytes of its files. */
  lease: Lease
  body: CreateResponse
  context: readonly ContextItem[]
  /** Types of items that were left out before. */
  skipped: readonly string[]
  settings: EngineSettings
  lengths: ContextLengths
}

/**
 * The request for the engine: every call has its output, tools are functions, files are resolved, and the context fits the model's
 * context length. Throws ApiError 400 with the path of the item at fault. Source: contract 10.3 to 10.6 and 13.
 */
export async function assembleRequest(
  ctx: Context,
  asked: AnswerRequest,
  left: AbortSignal,
): Promise<AssembledRequest> {
  const { org_id, served, lease, body, settings } = asked
  const model = { ...asked.model, context_length: asked.model.context_length ?? statedLength(asked) }
  const paired = withoutCutCalls(asked.context)
  requirePairs(paired)
  await yieldAfter(paired.length, left)
  const work = { org_id, model, engine: served.engine, lease, nameOf: settings.tools.nameOf }
  const fitting = { model, engine: served.engine, body, build: requestBuilder(ctx, asked) }
  const context = await dropUnneededMedia(ctx, fitting, { work, context: paired, left })
  const drafts = await draftItems(ctx, work, context, left)
  await yieldAfter(context.length, left)
  const { request, size } = await fitContext(fitting, { context, drafts }, left)
  if (request.messages.length === 0) {
    throw new ApiError('invalid_value', "Invalid 'input': nothing in it can be sent to the model.", { param: 'input' })
  }
  await limitAnswer(request, model, size)
  await yieldAfter(context.length, left)
  const learnsLength = body.truncation === 'auto' && asked.model.context_length === null
  const shorten = learnsLength ? shortener(ctx, asked, { size, left }) : undefined
  const unread = context.filter((_, i) => drafts[i]!.kind === 'unread').map(({ item }) => item.type)
  const dropped_items = [...new Set([...asked.skipped, ...unread])]
  return {
    dropped_items,
    exchange: { request, size, parameters: settings.parameters, names: RESPONSE_NAMES, ...(shorten && { shorten }) },
  }
}

/**
 * `dropped_items`: types of items that the model is not sent, of other services or not to be decrypted. `shorten` is there when the context
 * may be truncated and its maximum length is known only from the error of the model's server.
 */
export type AssembledRequest = {
  exchange: Pick<ExchangeRequest, 'request' | 'size' | 'parameters' | 'names' | 'shorten'>
  dropped_items: readonly string[]
}

function statedLength({ org_id, model, body, lengths }: AnswerRequest): number | null {
  return body.truncation === 'auto' ? lengths.get(org_id, model.id) : null
}

/** Drops the oldest items by the length that the server stated, scaled to our estimate, since the server may count more tokens. */
function shortener(
  ctx: Context,
  asked: AnswerRequest,
  { size, left }: { size: InputSize; left: AbortSignal },
): NonNullable<ExchangeRequest['shorten']> {
  const { org_id, model, lengths } = asked
  return async (refused) => {
    lengths.set(org_id, model.id, refused.limit)
    const counted = Math.max(1, refused.input ?? refused.asked)
    const estimate = await size.count(counted)
    const context_length = Math.max(1, Math.floor(refused.limit * Math.min(1, estimate / counted)))
    const shorter = await assembleRequest(ctx, { ...asked, model: { ...model, context_length } }, left)
    return shorter.exchange
  }
}

function requestBuilder(
  { secret }: Pick<Context, 'secret'>,
  { model, served, body, settings: { parameters } }: AnswerRequest,
): Fitting['build'] {
  const named = { ...body, verbosity: body.text?.verbosity }
  return ({ context, drafts }) => {
    const callOfOutput = matchOutputs(context.map(({ item }) => item))
    const messages = joinDrafts(drafts, { instructions: body.instructions, callOfOutput })
    return engineRequest(parameters, { body: named, model, engine_model: served.model, messages, secret })
  }
}

/**
 * Drops the items that would be truncated whatever their files contain, so that these files are not read: a long conversation may have
 * more images than one request may bring.
 */
async function dropUnneededMedia(
  ctx: Context,
  fitting: Fitting,
  { work, context, left }: { work: DraftWork; context: readonly ContextItem[]; left: AbortSignal },
): Promise<readonly ContextItem[]> {
  const { model, body, engine } = fitting
  if (body.truncation !== 'auto' || model.context_length === null || engine.countTokens) return context
  if (mediaOf(context).length === 0) return context
  const drafts = await draftWithoutFiles(ctx, work, context, left)
  const { drafted } = await fitContext(fitting, { context, drafts }, left)
  return drafted.context
}
