import type { ChatModelConfig } from '../config/config.ts'
import type { ChatEngine, ChatEvent, ChatRequest } from '../engines/chat/contract.ts'
import { type ContextOverflow, EngineError } from '../engines/engine-error.ts'
import type { Principal } from '../identity/caller/principal.ts'
import type { Lease } from '../platform/http/body/byte-budget.ts'
import type { InputSize } from './count.ts'
import type { FieldNames, ModelParameters } from './request.ts'

/** One request to a chat engine, and who makes it. */
export type ExchangeRequest = {
  principal: Principal
  request_id: string
  model: ChatModelConfig
  engine: ChatEngine
  request: ChatRequest
  /** What the client's route calls the fields of the request, for errors. */
  names: FieldNames
  /** Of the input of `request`. */
  size: InputSize
  /** What the client set. The rest of `request` is ours, such as a limit of the answer, which is lowered when it does not fit the context. */
  parameters: ModelParameters
  /** Counts the bytes of an answer that is kept whole. The engine is read on once there is room for more. */
  kept?: Lease | undefined
  /**
   * Shortens the request when the engine rejects it as too long and states its limit; it is asked once more then. Throws ApiError when
   * nothing more may be dropped.
   */
  shorten?(tokens: ContextOverflow): Promise<Pick<ExchangeRequest, 'request' | 'size'>>
}

/**
 * Asks the engine, and once more with a shorter request when it says by how much the first one is too long. `exchange.request` is then what the
 * engine has accepted. Throws EngineError.
 */
export async function requestCompletion(
  exchange: ExchangeRequest,
  signal: AbortSignal,
): Promise<AsyncIterable<readonly ChatEvent[]>> {
  try {
    return await exchange.engine.generate(exchange.request, signal)
  } catch (error) {
    const tokens = error instanceof EngineError ? error.tokens : undefined
    if (tokens === undefined || !(await shorten(exchange, tokens))) throw error
    return await exchange.engine.generate(exchange.request, signal)
  }
}

/** Whether there is a shorter request, which `exchange` then has. */
async function shorten(exchange: ExchangeRequest, tokens: ContextOverflow): Promise<boolean> {
  const { stream, max_tokens } = exchange.request
  if (exchange.shorten) {
    const { request, size } = await exchange.shorten(tokens)
    Object.assign(exchange, { request: { ...request, stream }, size })
    return true
  }
  const { limit, input = limit } = tokens
  const rest = limit - input
  if (exchange.parameters.max_tokens !== undefined || max_tokens === undefined || rest < 1 || rest >= max_tokens)
    return false
  exchange.request = { ...exchange.request, max_tokens: rest }
  return true
}
