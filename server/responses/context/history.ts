import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import { ApiError } from '../../platform/errors.ts'
import { jsonBytes } from '../../platform/json/write.ts'
import type { Item } from '../schema/items.ts'
import { type ChainLink, findItems, readChain } from '../stored/store-items.ts'

/** How long a chain of responses may be: so many links, and so many bytes of items. */
export type ChainLimits = { links_max: number; bytes_max: number }
const CHAIN_LIMITS: ChainLimits = { links_max: 2000, bytes_max: 64 * 1024 * 1024 }

/**
 * What a response that continues from `previous_response_id` begins with: the input and output of every response of the chain, oldest
 * first. Of failed and cancelled ones only completed items count. One query, whatever the length.
 * Throws ApiError `previous_response_not_found` when a link is missing or another person's, `invalid_value` when it has not ended, and
 * `context_length_exceeded` for a chain beyond the limits. Source: contract 10.4.
 */
export async function loadHistory(
  ctx: Pick<Context, 'db'>,
  principal: Pick<Principal, 'org_id' | 'user_id'>,
  previous_response_id: string,
  limits: ChainLimits = CHAIN_LIMITS,
): Promise<Item[]> {
  const { links_max, bytes_max } = limits
  const chain = await readChain(ctx.db, principal, { id: previous_response_id, links_max: links_max + 1, bytes_max })
  requireWhole(chain, previous_response_id, limits)
  return chain.reverse().flatMap(contentOf)
}

function requireWhole(chain: readonly ChainLink[], id: string, { links_max, bytes_max }: ChainLimits): void {
  const last = chain.at(-1)
  if (!last) throw refusal('previous_response_not_found', `Previous response with id '${id}' not found.`)
  if (chain.some(({ status }) => status === 'queued' || status === 'in_progress')) {
    throw refusal(
      'invalid_value',
      `The previous response '${id}' has not ended. Wait until it has, or cancel it first.`,
    )
  }
  if (chain.length > links_max) {
    if (new Set(chain.map((link) => link.id)).size < chain.length) {
      throw refusal('invalid_value', `The previous response '${id}' continues from itself. Begin a new conversation.`)
    }
    throw refusal(
      'context_length_exceeded',
      `The conversation before this request is longer than ${links_max} responses. Begin a new one, with a summary as its input.`,
    )
  }
  if (last.bytes > BigInt(bytes_max)) {
    throw refusal(
      'context_length_exceeded',
      `The conversation before this request has more than ${bytes_max} bytes. Begin a new one, with a summary as its input.`,
    )
  }
  if (last.previous_response_id !== null) {
    const text = `An earlier response of the conversation that '${id}' continues from is gone: it was never stored, was deleted or has expired. Send its items in 'input' instead.`
    throw refusal('previous_response_not_found', text)
  }
}

function contentOf({ status, input, output }: ChainLink): Item[] {
  const broken = status === 'failed' || status === 'cancelled'
  return [...input, ...(broken ? output.filter(isComplete) : output)]
}

/** Items that have no status are told only when they are whole. */
function isComplete(item: Item): boolean {
  return !('status' in item) || item.status === undefined || item.status === 'completed'
}

/** What references may bring into one request: as much as its body. */
export type ReferenceLimits = { bytes_max: number }
const REFERENCE_LIMITS: ReferenceLimits = { bytes_max: 64 * 1024 * 1024 }

/**
 * The items of these ids among all that the person's stored responses hold, input or output; where one id was used again the newest.
 * One query for all. Throws ApiError `item_not_found` for the first id there is none of, and `context_length_exceeded` beyond the limits.
 */
export async function resolveReferences(
  ctx: Pick<Context, 'db'>,
  principal: Pick<Principal, 'org_id' | 'user_id'>,
  ids: readonly string[],
  { bytes_max } = REFERENCE_LIMITS,
): Promise<Map<string, Item>> {
  const wanted = [...new Set(ids)]
  if (wanted.length === 0) return new Map()
  const rows = await findItems(ctx.db, principal, { ids: wanted, bytes_max })
  const found = new Map(rows.map(({ id, item }) => [id, item]))
  const missing = wanted.find((id) => !found.has(id))
  if (missing !== undefined) {
    throw new ApiError('item_not_found', `Item with id '${missing}' not found. Send the item itself instead.`)
  }
  if ([...found.values()].includes(null)) throw tooMuchReferred(bytes_max)
  return found as Map<string, Item>
}

/** A few bytes can refer to a large item again and again. Rejects with ApiError `context_length_exceeded` beyond the limits. */
export async function requireRoom(referred: readonly Item[], { bytes_max } = REFERENCE_LIMITS): Promise<void> {
  const sizes = new Map<Item, number>()
  let bytes = 0
  for (const item of referred) {
    const size = sizes.get(item) ?? (await jsonBytes(item))
    sizes.set(item, size)
    bytes += size
    if (bytes > bytes_max) throw tooMuchReferred(bytes_max)
  }
}

function tooMuchReferred(bytes_max: number): ApiError {
  const text = `The items that 'input' refers to have more than ${bytes_max} bytes. Refer to fewer of them.`
  return new ApiError('context_length_exceeded', text, { param: 'input' })
}

function refusal(code: 'previous_response_not_found' | 'invalid_value' | 'context_length_exceeded', message: string) {
  return new ApiError(code, message, { param: 'previous_response_id' })
}
