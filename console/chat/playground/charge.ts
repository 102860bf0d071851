import type { Static } from 'typebox'
import type { LedgerList } from '../../../server/billing/schema.ts'
import type { ChatModel } from '../../api/chat-models.ts'
import { add, decimalOf, unitsOf } from '../../api/money.ts'
import { request } from '../../api/request.ts'
import type { AssistantMessage, Tokens } from '../conversation/conversation.ts'
import { changeMessage, type OpenConversation } from '../conversation/open-conversation.ts'

const MILLION = 1_000_000n

/**
 * The cost of an answer as a decimal string with eight fraction digits: exactly what the service charges, rounded up to the next
 * unit. Source: docs/api/chat.md, Price.
 */
export function costOf(tokens: Tokens, pricing: ChatModel['pricing']): string {
  const { input, cached_input, output } = tokens
  const millionths =
    unitsOf(pricing.input_per_million) * BigInt(input - cached_input) +
    unitsOf(pricing.cached_input_per_million) * BigInt(cached_input) +
    unitsOf(pricing.output_per_million) * BigInt(output)
  return decimalOf((millionths + MILLION - 1n) / MILLION)
}

/** Adds the cost of an answer to what the conversation has spent. For an answer that was cut off, the ledger has the cost. */
export async function settle(
  conversation: OpenConversation,
  { id, cost, tokens, request_id }: AssistantMessage,
  onCharged: () => void,
): Promise<void> {
  const { settling } = conversation
  if (settling.has(id) || (cost === null && request_id === null)) return
  settling.add(id)
  const charge = cost === null ? await findCharge(request_id!) : { cost, tokens }
  settling.delete(id)
  if (charge === null) return changeMessage<AssistantMessage>(conversation, id, { request_id: null })
  if (cost === null) changeMessage<AssistantMessage>(conversation, id, charge)
  conversation.change((now) => ({ ...now, spent: add(now.spent, charge.cost) }))
  onCharged()
}

/** The service writes the ledger a moment after it notices that the client disconnected. */
const WAITS_MS = [100, 200, 400, 800, 1600, 3200, 6400]

/** The ledger entry with this request id; null when none appears in time. */
async function findCharge(request_id: string): Promise<{ cost: string; tokens: Tokens } | null> {
  for (const wait_ms of WAITS_MS) {
    await new Promise((resolve) => setTimeout(resolve, wait_ms))
    const query = { limit: 50 }
    const ledger = await request<Static<typeof LedgerList>>('GET', '/console/ledger', { query }).catch(() => null)
    const entry = ledger?.data.find((each) => each.request_id === request_id)
    if (!entry) continue
    const tokens = {
      input: entry.input_tokens ?? 0,
      cached_input: entry.cached_input_tokens ?? 0,
      output: entry.output_tokens ?? 0,
      reasoning: entry.reasoning_tokens ?? 0,
    }
    return { cost: entry.amount.replace('-', ''), tokens }
  }
  return null
}
