import type { Meter } from '../../billing/meter.ts'
import { entitledChatModel } from '../../catalog/entitlements.ts'
import { startTurn, type Turn } from '../../chat/turn.ts'
import type { Context } from '../../context.ts'
import type { ChatEvent, TokenUsage } from '../../engines/chat/contract.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import { unixSeconds } from '../../platform/clock.ts'
import { ApiError } from '../../platform/errors.ts'
import { usageView } from '../events/usage.ts'
import { newItemId, newResponseId } from '../ids.ts'
import { checkBody } from '../request/check.ts'
import type { ContextItem, Item, MessageItem } from '../schema/items.ts'
import type { CompactedResponse, CreateResponse } from '../schema/response.ts'
import { assembleRequest } from './assemble.ts'
import { loadContext } from './load.ts'
import { seal } from './seal.ts'

/** The body with everything checked that does not depend on the model; what a compaction has no use for is ignored. Throws ApiError 400. */
export function checkCompaction(unchecked: unknown): CreateResponse {
  if (typeof unchecked !== 'object' || unchecked === null || Array.isArray(unchecked)) return checkBody(unchecked)
  const given = unchecked as Record<string, unknown>
  return checkBody(Object.fromEntries(MEMBERS.filter((name) => Object.hasOwn(given, name)).map((n) => [n, given[n]])))
}

const MEMBERS = ['model', 'input', 'previous_response_id', 'instructions', 'prompt_cache_key'] as const

/**
 * Makes a context short: messages of the user stay as they are, of everything else the model writes a summary, sealed for the
 * organization. Metered as any turn, stored nowhere. Throws ApiError. Source: contract 11.4.
 */
export async function compact(
  ctx: Context,
  meter: Meter,
  call: { principal: Principal; request_id: string; body: CreateResponse },
  left: AbortSignal,
): Promise<CompactedResponse> {
  const { principal, request_id, body } = call
  const { org_id } = principal
  const model = entitledChatModel(ctx.config, principal.plan, body.model)
  const served = ctx.engines.chat.get(model.id)!
  const { context } = await loadContext(ctx, principal, body)
  // Before anything is fetched or drawn on the caller's behalf.
  const admitted = meter.admit(org_id)
  if (admitted) await admitted
  const wanted = { org_id, model, served, body: summaryBody(body), context: [...context, SUMMARY_REQUEST] }
  const { request, shorten } = await assembleRequest(ctx, wanted, left)
  const asked = { principal, request_id, model, engine: served.engine, request, ...(shorten && { shorten }) }
  const turn = await startTurn(ctx, meter, asked, left)
  const { text, usage } = await readSummary(turn)
  const encrypted_content = seal(ctx.secret, { org_id, purpose: 'compaction' }, text)
  return {
    id: newResponseId(),
    object: 'response.compaction',
    created_at: unixSeconds(ctx.clock.now()),
    output: [
      ...context.map(({ item }) => item).filter(isOfUser),
      { id: newItemId('cmp'), type: 'compaction', encrypted_content },
    ],
    usage: usageView(usage),
  }
}

/** What is too long for a summary loses its oldest part: compacting is what one does when little room is left. */
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

async function readSummary(turn: Turn): Promise<{ text: string; usage: TokenUsage }> {
  let text = ''
  let usage: TokenUsage | null = null
  try {
    for (let batch: readonly ChatEvent[] | null = turn.first; batch; batch = await turn.next()) {
      for (const event of batch) {
        if (event.type === 'text-delta') text += event.text
        if (event.type === 'end') usage = event.usage
      }
    }
  } finally {
    await turn.stop()
  }
  if (text.trim() !== '' && usage) return { text, usage }
  throw new ApiError('upstream_error', 'The model wrote no summary. Try again, or with another model.')
}

function isOfUser(item: Item): item is MessageItem {
  return item.type === 'message' && item.role === 'user'
}
