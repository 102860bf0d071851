import type { Static } from 'typebox'
import type { LedgerList } from '../../../server/billing/schema.ts'
import { request } from '../../api/request.ts'
import type { Tokens } from './conversation.ts'

/** The ledger is written a moment after the service notices that we left. */
const WAITS_MS = [100, 200, 400, 800, 1600, 3200, 6400]

/**
 * What an answer that did not reach its end was charged: its entry in the ledger, found by the id of the request. Null when none
 * appears for a while.
 */
export async function findCharge(request_id: string): Promise<{ cost: string; tokens: Tokens } | null> {
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
