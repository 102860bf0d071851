import { entitledChatModel } from '../../catalog/entitlements.ts'
import type { ChatModelConfig } from '../../config/config.ts'
import type { Context } from '../../context.ts'
import type { ChatEngine, ChatRequest } from '../../engines/chat/contract.ts'
import type { ResponseCall, ResponseDeps } from '../call.ts'
import { type AssembledRequest, assembleRequest } from '../context/assemble.ts'
import { loadContext } from '../context/load.ts'
import type { Item } from '../schema/items.ts'
import { checkForModel } from './check.ts'
import { type ForwardedTools, forwardTools } from './tools.ts'

/** A call with nothing left to refuse but by the model itself. */
export type PreparedCall = {
  model: ChatModelConfig
  engine: ChatEngine
  /** What the model is asked; null for a call that asks for no answer. */
  request: ChatRequest | null
  shorten?: AssembledRequest['shorten']
  tools: ForwardedTools
  history: readonly Item[]
  input: readonly Item[]
}

/**
 * Everything that is checked before a model is asked, in the order of the contract: the model, what it can do, the previous response and
 * items referred to, the balance, then files and the length of the context. Throws ApiError.
 */
export async function prepareCall(
  ctx: Context,
  { meter }: ResponseDeps,
  call: ResponseCall,
  left: AbortSignal,
): Promise<PreparedCall> {
  const { principal, body } = call
  const { org_id } = principal
  const model = entitledChatModel(ctx.config, principal.plan, body.model)
  const served = ctx.engines.chat.get(model.id)!
  checkForModel(body, model)
  const { history, input, context } = await loadContext(ctx, principal, body, call.recall)
  // Before anything is fetched or drawn on the caller's behalf.
  const admitted = meter.admit(org_id)
  if (admitted) await admitted
  const prepared = { model, engine: served.engine, history, input }
  if (call.generate === false) return { ...prepared, request: null, tools: forwardTools(body) }
  const { request, tools, shorten } = await assembleRequest(ctx, { org_id, model, served, body, context }, left)
  return { ...prepared, request: { ...request, stream: !call.plain }, tools, ...(shorten && { shorten }) }
}
