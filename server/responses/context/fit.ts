import { countRequest, type InputSize, inputSize } from '../../chat/count.ts'
import type { ChatModelConfig } from '../../config/config.ts'
import type { ChatEngine, ChatMessage, ChatRequest } from '../../engines/chat/contract.ts'
import { ApiError } from '../../platform/errors.ts'
import { giveWay } from '../../platform/turns.ts'
import type { ContextItem } from '../schema/items.ts'
import type { CreateResponse } from '../schema/response.ts'
import { countMessages } from './count.ts'
import type { Draft } from './drafts.ts'
import { dropOldest } from './truncate.ts'

/** A context and the draft of each of its items, by the same index. */
export type Drafted = { context: readonly ContextItem[]; drafts: readonly Draft[] }

/** How long a request may be, and how it is counted. `build` makes the engine's request from a context. */
export type Fitting = {
  model: ChatModelConfig
  engine: Pick<ChatEngine, 'countTokens'>
  body: Pick<CreateResponse, 'truncation' | 'max_output_tokens'>
  build(drafted: Drafted): ChatRequest
}

/**
 * Truncates the context to the model's context length and builds the request. A request whose upper bound fits is not counted, and when the
 * context length is unknown nothing is dropped. Throws ApiError `context_length_exceeded` when too little may be dropped.
 * Source: contract 10.5.
 */
export async function fitContext(
  fitting: Fitting,
  full: Drafted,
  left: AbortSignal,
): Promise<{ drafted: Drafted; request: ChatRequest; size: InputSize }> {
  const { model, engine, body, build } = fitting
  const request = build(full)
  const size = inputSize(engine, request, left)
  const limit = model.context_length
  if (limit === null) return { drafted: full, request, size }
  await giveWay(full.context.length)
  const room = limit - (body.truncation === 'auto' ? outputReserve(limit, model, body) : 0)
  const tokens = await size.atMost(room)
  if (tokens <= room) return { drafted: full, request, size }
  if (body.truncation !== 'auto') throw tooLong(limit, tokens)

  const items = full.context.map(({ item }) => item)
  const costs = await costsOf(full.drafts, { request, tokens, estimated: engine.countTokens === undefined })
  for (let excess = tokens - room, step = 1, length = items.length; ; step *= 2) {
    const kept = dropOldest(items, costs, excess)
    const drafted = keptOf(full, kept)
    await giveWay(items.length)
    if (drafted.context.length === length) throw tooLong(limit, tokens)
    const shorter = build(drafted)
    const shorterSize = inputSize(engine, shorter, left)
    const over = (await shorterSize.count()) - room
    if (over <= 0) return { drafted, request: shorter, size: shorterSize }
    // Items count less alone than in the request, so more has to be dropped; doubling the step ends soon.
    length = drafted.context.length
    excess = costs.reduce((gone, cost, i) => (kept[i] ? gone : gone + cost), 0) + over * step
  }
}

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

/** Tokens of each item alone. When the engine counts tokens, the estimate is scaled to its count. */
async function costsOf(
  drafts: readonly Draft[],
  { request, tokens, estimated }: { request: ChatRequest; tokens: number; estimated: boolean },
): Promise<number[]> {
  const scale = estimated ? 1 : tokens / Math.max(1, await countRequest(request))
  const costs: number[] = []
  for (const draft of drafts) costs.push(scale * (await countMessages(messagesOf(draft))))
  return costs
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
      return []
  }
}

function tooLong(limit: number, tokens: number): ApiError {
  const text = `This model's maximum context length is ${limit} tokens. However, your input resulted in ${tokens} tokens. Please reduce the length of the input.`
  return new ApiError('context_length_exceeded', text, { param: 'input' })
}
