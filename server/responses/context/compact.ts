import { entitledChatModel } from '../../catalog/entitlements.ts'
import { type Exchange, startExchange } from '../../chat/exchange.ts'
import type { ChatModelConfig } from '../../config/config.ts'
import type { Context } from '../../context.ts'
import type { ChatEvent, TokenUsage } from '../../engines/chat/contract.ts'
import { unixSeconds } from '../../platform/clock.ts'
import { isRecord } from '../../platform/json/record.ts'
import type { ResponseCall, ResponseDeps } from '../call.ts'
import { responseUsage } from '../events/event.ts'
import { noSummary } from '../events/output-items.ts'
import { newItemId, newResponseId } from '../ids.ts'
import { checkResponseBody } from '../request/check/body.ts'
import { engineSettings } from '../request/engine-request.ts'
import type { ContextItem } from '../schema/items.ts'
import type { CompactedResponse, CreateResponse } from '../schema/response.ts'
import { type AnswerRequest, assembleRequest } from './assemble.ts'
import { isKeptBesideSummary, loadContext } from './load.ts'
import { seal } from './seal.ts'

/** Checks everything that does not depend on the model; members that a compaction does not use are ignored. Throws ApiError 400. */
export function checkCompaction(unchecked: unknown, left: AbortSignal): Promise<CreateResponse> {
  if (!isRecord(unchecked)) return checkResponseBody(unchecked, { left })
  return checkResponseBody(
    Object.fromEntries(MEMBERS.filter((name) => Object.hasOwn(unchecked, name)).map((n) => [n, unchecked[n]])),
    { left },
  )
}

const MEMBERS = ['model', 'input', 'previous_response_id', 'instructions', 'prompt_cache_key'] as const

/**
 * Shortens a context: user messages are kept, everything else is replaced by a summary that the model writes, encrypted for the
 * organization. Charged like any exchange and not stored. Throws ApiError. Source: contract 11.4.
 */
export async function compact(
  ctx: Context,
  { meter, lengths }: ResponseDeps,
  call: Pick<ResponseCall, 'principal' | 'request_id' | 'body' | 'lease'>,
  left: AbortSignal,
): Promise<{ compacted: CompactedResponse; dropped_items: readonly string[] }> {
  const { principal, request_id, body, lease } = call
  const { org_id } = principal
  ctx.switches.requireIntake()
  const model = entitledChatModel(ctx.config, principal.plan, body.model)
  const served = ctx.engines.chat.get(model.id)!
  const { context, skipped } = await loadContext(ctx, call, left)
  // Before files are fetched and rendered for the caller.
  const admitted = meter.admit(org_id)
  if (admitted) await admitted
  const asked = { org_id, model, served, lease, skipped, lengths, ...summaryRequest(body, context, model) }
  const { exchange: asking, dropped_items } = await assembleRequest(ctx, asked, left)
  const wanted = { principal, request_id, model, engine: served.engine, ...asking }
  const exchange = await startExchange(ctx, meter, wanted, left)
  const { text, usage } = await readSummary(exchange)
  const encrypted_content = seal(ctx.secret, { org_id, purpose: 'compaction' }, text)
  const compacted: CompactedResponse = {
    id: newResponseId(),
    object: 'response.compaction',
    created_at: unixSeconds(ctx.clock.now()),
    output: [
      ...context.map(({ item }) => item).filter(isKeptBesideSummary),
      { id: newItemId('cmp'), type: 'compaction', encrypted_content },
    ],
    usage: responseUsage(usage),
  }
  return { compacted, dropped_items }
}

/** The request for the summary that replaces this context. */
export function summaryRequest(
  body: CreateResponse,
  context: readonly ContextItem[],
  model: ChatModelConfig,
): Pick<AnswerRequest, 'body' | 'context' | 'settings'> {
  const summary = summaryBody(body)
  return { body: summary, context: [...context, SUMMARY_REQUEST], settings: engineSettings(summary, model) }
}

/** Truncates what is too long to summarize: a context is compacted when it is nearly full. */
function summaryBody({ model, instructions, prompt_cache_key }: CreateResponse): CreateResponse {
  return {
    model,
    ...(instructions !== undefined && { instructions }),
    ...(prompt_cache_key !== undefined && { prompt_cache_key }),
    truncation: 'auto',
  }
}

const SUMMARY_REQUEST: ContextItem = {
  path: 'input',
  item: {
    id: 'msg_summary',
    type: 'message',
    status: 'completed',
    role: 'user',
    content: [
      {
        type: 'input_text',
        text:
          'Write a summary that will take the place of everything in this conversation but my own messages, which I keep. ' +
          'Whoever goes on with the work will see my messages and your summary, nothing else. ' +
          'State the instructions you were given, what was done and decided and why, facts, names, numbers, file paths and results of ' +
          'tools that are still needed, what failed, and what remains to be done. ' +
          'Answer with the summary alone, in the language of the conversation.',
      },
    ],
  },
}

async function readSummary(exchange: Exchange): Promise<{ text: string; usage: TokenUsage }> {
  let text = ''
  let usage: TokenUsage | null = null
  try {
    for (let batch: readonly ChatEvent[] | null = exchange.first; batch; batch = await exchange.next()) {
      for (const event of batch) {
        if (event.type === 'text-delta') text += event.text
        if (event.type === 'end') usage = event.usage
      }
    }
  } finally {
    await exchange.stop()
  }
  if (text.trim() !== '' && usage) return { text, usage }
  throw noSummary()
}
