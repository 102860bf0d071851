import {
  countedMost,
  countInputTokens,
  countMessages,
  type InputSize,
  inputSize,
  inputTooLong,
} from '../../chat/count.ts'
import type { ChatModelConfig } from '../../config/config.ts'
import type { ChatEngine, ChatMessage, ChatRequest } from '../../engines/chat/contract.ts'
import { yieldAfter } from '../../platform/turns.ts'
import type { ContextItem } from '../schema/items.ts'
import type { CreateResponse } from '../schema/response.ts'
import type { Draft } from './drafts.ts'
import { dropOldest, keepNewest } from './truncate.ts'

/** A context and the draft of each of its items, by the same index. */
export type Drafted = { context: readonly ContextItem[]; drafts: readonly Draft[] }

/** How long a request may be, and how it is counted. `build` makes the engine's request from a context. */
export type Fitting = {
  model: ChatModelConfig
  engine: Pick<ChatEngine, 'countTokens'>
  body: Pick<CreateResponse, 'truncation' | 'max_output_tokens'>
  build(drafted: Drafted): ChatRequest
}

type Fitted = { drafted: Drafted; request: ChatRequest; size: InputSize }

/**
 * Truncates the context to the model's context length and builds the request. A request whose upper bound fits is not counted, of another
 * no more is counted than the context length has room for, a few times over, and when the length is unknown nothing is dropped. Throws
 * ApiError `context_length_exceeded` when too little may be dropped. Source: contract 10.5.
 */
export async function fitContext(fitting: Fitting, full: Drafted, left: AbortSignal): Promise<Fitted> {
  const { model, engine, body, build } = fitting
  const built = (drafted: Drafted): Fitted => {
    const request = build(drafted)
    return { drafted, request, size: inputSize(engine, request, left) }
  }
  const whole = built(full)
  const limit = model.context_length
  if (limit === null) return whole
  await yieldAfter(full.context.length, left)
  const room = limit - (body.truncation === 'auto' ? outputReserve(limit, model, body) : 0)
  if ((await whole.size.bounds()).most <= room) return whole
  const tokens = await whole.size.count(countedMost(limit))
  if (tokens <= room) return whole
  if (body.truncation !== 'auto') throw inputTooLong(limit, tokens, 'input')

  const items = full.context.map(({ item }) => item)
  const reach = engine.countTokens ? room * ESTIMATE_MAX : room
  const cost = (i: number, most: number) => countMessages(messagesOf(full.drafts[i]!), { signal: left, most })
  let { kept, costs } = await keepNewest(items, reach, cost)
  let fitted = kept.includes(false) ? built(keptOf(full, kept)) : whole
  let scale: number | undefined
  for (let step = 1; ; step *= 2) {
    const most = 2 * reach
    const counted = await fitted.size.count(most)
    if (counted <= room) return fitted
    scale ??= engine.countTokens ? counted / (await countInputTokens(fitted.request, { signal: left, most })) : 1
    // Items count less alone than in the request, so more has to be dropped; doubling the step ends soon.
    const gone = costs.reduce((sum, cost, i) => (kept[i] ? sum : sum + cost), 0)
    kept = dropOldest(items, costs, gone + ((counted - room) * step) / scale)
    const shorter = keptOf(full, kept)
    if (shorter.context.length === fitted.drafted.context.length) throw inputTooLong(limit, tokens, 'input')
    await yieldAfter(items.length, left)
    fitted = built(shorter)
  }
}

/** How many times fewer tokens than our estimate an engine may count, most of all for images. */
const ESTIMATE_MAX = 16

/** Share of the context length reserved for the answer when the client sets no limit. */
const RESERVE_SHARE = 1 / 4

/** Tokens reserved for the answer: the client's limit, else the model's maximum up to that share. */
function outputReserve(
  limit: number,
  { max_output_tokens }: ChatModelConfig,
  body: Pick<CreateResponse, 'max_output_tokens'>,
): number {
  const share = Math.floor(limit * RESERVE_SHARE)
  return body.max_output_tokens ?? Math.min(max_output_tokens ?? share, share)
}

function keptOf({ context, drafts }: Drafted, kept: readonly boolean[]): Drafted {
  return { context: context.filter((_, i) => kept[i]), drafts: drafts.filter((_, i) => kept[i]) }
}

function messagesOf(draft: Draft): ChatMessage[] {
  const media = 'media' in draft && draft.media.length > 0 ? [{ role: 'user' as const, content: draft.media }] : []
  switch (draft.kind) {
    case 'message':
      return [draft.message, ...media]
    case 'assistant':
      return [{ role: 'assistant', content: draft.content }]
    case 'call':
      return [{ role: 'assistant', content: null, tool_calls: [draft.call] }]
    case 'output':
      return [{ role: 'tool', tool_call_id: draft.call_id, content: draft.text }, ...media]
    case 'reasoning':
    case 'unread':
    case 'none':
      return []
  }
}
