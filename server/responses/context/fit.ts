import type { ChatModelConfig } from '../../config/config.ts'
import type { ChatEngine, ChatMessage, ChatRequest } from '../../engines/chat/contract.ts'
import { ApiError } from '../../platform/errors.ts'
import { giveWay } from '../../platform/turns.ts'
import type { ContextItem } from '../schema/items.ts'
import type { CreateResponse } from '../schema/response.ts'
import { countInput, countMessages, tokensAtMost } from './count.ts'
import type { Draft } from './drafts.ts'
import { dropOldest } from './truncate.ts'

/** A context and what its items are to the engine, at the same places. */
export type Drafted = { context: readonly ContextItem[]; drafts: readonly Draft[] }

/** How long a request may be, and how it is counted. `build` makes the request of a context. */
export type Fitting = {
  model: ChatModelConfig
  engine: Pick<ChatEngine, 'countTokens'>
  body: Pick<CreateResponse, 'truncation' | 'max_output_tokens'>
  build(drafted: Drafted): ChatRequest
}

/**
 * The context as far as the model's context length takes it, and the request made of it. What cannot be too long is not counted, and
 * where the length is not known nothing is dropped. Throws ApiError `context_length_exceeded` when nothing may be dropped, or not enough.
 * Source: contract 10.5.
 */
export async function fitContext(
  fitting: Fitting,
  whole: Drafted,
  left: AbortSignal,
): Promise<{ drafted: Drafted; request: ChatRequest }> {
  const { model, engine, body, build } = fitting
  const request = build(whole)
  const limit = model.context_length
  if (limit === null) return { drafted: whole, request }
  await giveWay(whole.context.length)
  const room = limit - (body.truncation === 'auto' ? outputReserve(limit, model, body) : 0)
  if ((await tokensAtMost(request)) <= room) return { drafted: whole, request }
  const tokens = await countInput(engine, request, left)
  if (tokens <= room) return { drafted: whole, request }
  if (body.truncation !== 'auto') throw tooLong(limit, tokens)

  const items = whole.context.map(({ item }) => item)
  const costs = await costsOf(whole.drafts, { request, tokens, estimated: engine.countTokens === undefined })
  for (let excess = tokens - room, step = 1, length = items.length; ; step *= 2) {
    const kept = dropOldest(items, costs, excess)
    const drafted = keptOf(whole, kept)
    await giveWay(items.length)
    if (drafted.context.length === length) throw tooLong(limit, tokens)
    const shorter = build(drafted)
    const over = (await countInput(engine, shorter, left)) - room
    if (over <= 0) return { drafted, request: shorter }
    // Items weigh less alone than the engine counts. More has to go than went; growing steps end soon.
    length = drafted.context.length
    excess = costs.reduce((gone, cost, i) => (kept[i] ? gone : gone + cost), 0) + over * step
  }
}

/** Part of the context length that is left for the answer where the client does not say how long it may be. */
const RESERVE_SHARE = 1 / 4

/** Tokens kept free for the answer: as many as asked for, else the model's maximum, within a quarter of its context length. */
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

/** Tokens of each item by itself. Where the engine counts, the estimate is brought to its scale. */
async function costsOf(
  drafts: readonly Draft[],
  { request, tokens, estimated }: { request: ChatRequest; tokens: number; estimated: boolean },
): Promise<number[]> {
  const scale = estimated ? 1 : tokens / Math.max(1, await countInput({}, request, NEVER))
  const costs: number[] = []
  for (const draft of drafts) costs.push(scale * (await countMessages(messagesOf(draft))))
  return costs
}

const NEVER = new AbortController().signal

function messagesOf(draft: Draft): ChatMessage[] {
  const media = 'media' in draft && draft.media.length > 0 ? [{ role: 'user' as const, content: draft.media }] : []
  switch (draft.kind) {
    case 'message':
      return [draft.message, ...media]
    case 'said':
      return [{ role: 'assistant', content: draft.content }]
    case 'call':
      return [{ role: 'assistant', content: null, tool_calls: [draft.call] }]
    case 'output':
      return [{ role: 'tool', tool_call_id: draft.call_id, content: draft.text }, ...media]
    case 'thought':
      return []
  }
}

function tooLong(limit: number, tokens: number): ApiError {
  const text = `This model's maximum context length is ${limit} tokens. However, your input resulted in ${tokens} tokens. Please reduce the length of the input.`
  return new ApiError('context_length_exceeded', text, { param: 'input' })
}
