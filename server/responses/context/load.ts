import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Lease } from '../../platform/http/body/byte-budget.ts'
import { jsonBytes } from '../../platform/json/write.ts'
import type { ResponseCall } from '../call.ts'
import { normalizeInput, skippedCalls, skippedTypes } from '../request/normalize-input.ts'
import type { ContextItem, InputEntry, Item } from '../schema/items.ts'
import type { CreateResponse } from '../schema/response.ts'
import { type ChainLink, findItems, readChain } from '../stored/store/items.ts'
import { outputsOf } from './pairing.ts'

/** What the model is given: the history, then the input of this request, with references replaced by their items. */
export type EffectiveContext = {
  /** The items of the previous response and those before it. */
  history: readonly Item[]
  /** The items of this request alone, as they are stored and returned. */
  input: readonly Item[]
  /** Both, each item beside its path. */
  context: readonly ContextItem[]
  /** Types of items of `input` that are not sent to the model: those of other services, and the outputs of their calls. */
  skipped: readonly string[]
}

type Loading = Pick<ResponseCall, 'lease' | 'cachedContext'> & { principal: Pick<Principal, 'org_id' | 'user_id'> }

/**
 * Loads the effective context of a request, as its lease has room for it. Throws ApiError 404 for a previous response or an item that is
 * unknown or another person's, 400 `context_length_exceeded` for a history beyond the limits. Source: contract 10.4.
 */
export async function loadContext(
  ctx: Pick<Context, 'db'>,
  call: Loading & { body: Pick<CreateResponse, 'input' | 'previous_response_id'> },
  left: AbortSignal,
): Promise<EffectiveContext> {
  const { input, previous_response_id } = call.body
  const entries = await normalizeInput(input, left)
  const history = previous_response_id === undefined ? [] : await historyOf(ctx, call, previous_response_id)
  const own = await replaceReferences(ctx, call, { entries, history }, left)
  const all = [...history.map((item) => ({ item, path: 'previous_response_id' })), ...own]
  const outputs = outputsOf(skippedCalls(input), all)
  const context = outputs.size === 0 ? all : all.filter((each) => !outputs.has(each))
  return {
    history,
    input: context.slice(history.length).map(({ item }) => item),
    context,
    skipped: [...skippedTypes(input), ...[...outputs].map(({ item }) => item.type)],
  }
}

async function historyOf(
  ctx: Pick<Context, 'db'>,
  { principal, lease, cachedContext }: Loading,
  response_id: string,
): Promise<readonly Item[]> {
  const cached = cachedContext?.(response_id)
  if (!cached) return loadHistory(ctx, principal, response_id, { ...CHAIN_LIMITS, lease })
  // The cache has the items, but the engine is sent them as text.
  await lease.add(cached.bytes)
  return cached.context
}

/** Items of the history are known; all others are looked up in one query. */
async function replaceReferences(
  ctx: Pick<Context, 'db'>,
  { principal, lease }: Loading,
  { entries, history }: { entries: readonly InputEntry[]; history: readonly Item[] },
  left: AbortSignal,
): Promise<ContextItem[]> {
  const references = entries.flatMap(({ item }) => (item.type === 'item_reference' ? [item.id] : []))
  if (references.length === 0) return entries as ContextItem[]
  const known = new Map(history.map((item) => [item.id, item]))
  const unknown = references.filter((id) => !known.has(id))
  const found = await findReferencedItems(ctx, principal, unknown, { ...REFERENCE_LIMITS, lease })
  const referred = (id: string): Item => known.get(id) ?? found.get(id)!
  await lease.add(await totalSize(references.map(referred), left))
  return entries.map(({ item, path }) => ({ item: item.type === 'item_reference' ? referred(item.id) : item, path }))
}

/** The most responses in a chain, and the most bytes of their items. */
export type ChainLimits = { links_max: number; bytes_max: number }
const CHAIN_LIMITS: ChainLimits = { links_max: 2000, bytes_max: 64 * 1024 * 1024 }

/**
 * The input and output of `previous_response_id` and every response before it, oldest first. Of failed and cancelled responses only the
 * completed output counts. One query, whatever the length; two for more than a megabyte, which `lease` must have room for.
 * Throws ApiError `previous_response_not_found` when a link is missing or another person's, `invalid_value` when it has not ended, and
 * `context_length_exceeded` for a chain over the limits. Source: contract 10.4.
 */
export async function loadHistory(
  ctx: Pick<Context, 'db'>,
  principal: Pick<Principal, 'org_id' | 'user_id'>,
  previous_response_id: string,
  { lease, ...limits }: ChainLimits & { lease?: Lease } = CHAIN_LIMITS,
): Promise<Item[]> {
  const wanted = { id: previous_response_id, links_max: limits.links_max + 1, bytes_max: limits.bytes_max }
  let chain = await readChain(ctx.db, principal, { ...wanted, read_max: AT_ONCE_BYTES_MAX })
  requireComplete(chain, previous_response_id, limits)
  const bytes = Number(chain.at(-1)!.bytes)
  await lease?.add(bytes)
  if (bytes > AT_ONCE_BYTES_MAX) {
    chain = await readChain(ctx.db, principal, { ...wanted, read_max: limits.bytes_max })
    requireComplete(chain, previous_response_id, limits)
  }
  let items: Item[] = []
  for (const link of chain.reverse()) {
    const output = outputOf(link)
    for (const item of link.input) items.push(item)
    items = keptBeside(output, items)
    for (const item of output) items.push(item)
  }
  return items
}

/**
 * What the next response continues from beside this output: beside a compaction the messages of the user and the tools, since all else is in
 * its summary.
 */
export function keptBeside(output: readonly Item[], before: Item[]): Item[] {
  if (!output.some(({ type }) => type === 'compaction')) return before
  return before.filter(isKeptBesideSummary)
}

export function isKeptBesideSummary(item: Item): item is Extract<Item, { type: 'message' | 'additional_tools' }> {
  return item.type === 'additional_tools' || (item.type === 'message' && item.role === 'user')
}

/** Items of more bytes are read only once there is room for them in memory. */
const AT_ONCE_BYTES_MAX = 1024 * 1024

function requireComplete(chain: readonly ChainLink[], id: string, { links_max, bytes_max }: ChainLimits): void {
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

/** The output that counts for what continues: of a response that failed or was cancelled only what is complete. */
export function outputOf({ status, output }: { status: string; output: Item[] }): Item[] {
  const endedEarly = status === 'failed' || status === 'cancelled'
  return endedEarly ? output.filter(isComplete) : output
}

/** Items without a status are stored only when they are complete. */
function isComplete(item: Item): boolean {
  return !('status' in item) || item.status === undefined || item.status === 'completed'
}

/** The most bytes that references may add to a request: as many as a body may have. */
export type ReferenceLimits = { bytes_max: number }
const REFERENCE_LIMITS: ReferenceLimits = { bytes_max: 64 * 1024 * 1024 }

/**
 * The items with these ids in all of the person's stored responses, input or output; the newest where an id was reused. One query; two for
 * more than a megabyte, as for the history. Throws ApiError `item_not_found` for the first unknown id, and `context_length_exceeded` beyond
 * the limits.
 */
export async function findReferencedItems(
  ctx: Pick<Context, 'db'>,
  principal: Pick<Principal, 'org_id' | 'user_id'>,
  ids: readonly string[],
  { bytes_max, lease }: ReferenceLimits & { lease?: Lease } = REFERENCE_LIMITS,
): Promise<Map<string, Item>> {
  const wanted = [...new Set(ids)]
  if (wanted.length === 0) return new Map()
  const find = (max: number) => findItems(ctx.db, principal, { ids: wanted, bytes_max: max })
  let rows = await find(Math.min(bytes_max, AT_ONCE_BYTES_MAX))
  if (bytes_max > AT_ONCE_BYTES_MAX && rows.some(({ item }) => item === null)) {
    const bytes = rows.reduce((sum, { size_bytes }) => sum + Number(size_bytes), 0)
    if (bytes > bytes_max) throw referencesTooLarge(bytes_max)
    await lease?.add(bytes)
    rows = await find(bytes_max)
  }
  const found = new Map(rows.map(({ id, item }) => [id, item]))
  const missing = wanted.find((id) => !found.has(id))
  if (missing !== undefined) {
    throw new ApiError('item_not_found', `Item with id '${missing}' not found. Send the item itself instead.`)
  }
  if ([...found.values()].includes(null)) throw referencesTooLarge(bytes_max)
  return found as Map<string, Item>
}

/** Bytes of these items as JSON: a few may reference a large one many times. Rejects with ApiError `context_length_exceeded` beyond the limits. */
async function totalSize(referred: readonly Item[], left: AbortSignal): Promise<number> {
  const { bytes_max } = REFERENCE_LIMITS
  const sizes = new Map<Item, number>()
  let bytes = 0
  for (const item of referred) {
    const size = sizes.get(item) ?? (await jsonBytes(item, left))
    sizes.set(item, size)
    bytes += size
    if (bytes > bytes_max) throw referencesTooLarge(bytes_max)
  }
  return bytes
}

function referencesTooLarge(bytes_max: number): ApiError {
  const text = `The items that 'input' refers to have more than ${bytes_max} bytes. Refer to fewer of them.`
  return new ApiError('context_length_exceeded', text, { param: 'input' })
}

function refusal(code: 'previous_response_not_found' | 'invalid_value' | 'context_length_exceeded', message: string) {
  return new ApiError(code, message, { param: 'previous_response_id' })
}
