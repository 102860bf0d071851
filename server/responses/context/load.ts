import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import { normalizeInput } from '../request/normalize-input.ts'
import type { ContextItem, InputEntry, Item } from '../schema/items.ts'
import type { CreateResponse } from '../schema/response.ts'
import { loadHistory, requireRoom, resolveReferences } from './history.ts'

/** What the model is to see: what went before, then the input of this request, references replaced by what they refer to. */
export type EffectiveContext = {
  /** Of the previous response and those before it. */
  history: readonly Item[]
  /** Of this request alone, as it is stored and given back. */
  input: readonly Item[]
  /** Both, each item beside its path. */
  context: readonly ContextItem[]
}

/**
 * Puts the effective context of a request together. `recall` gives the whole context of a previous response that the caller holds in
 * memory. Throws ApiError 404 for a previous response or an item that is unknown or another person's,
 * 400 `context_length_exceeded` for more than may be carried. Source: contract 10.4.
 */
export async function loadContext(
  ctx: Pick<Context, 'db'>,
  principal: Pick<Principal, 'org_id' | 'user_id'>,
  { input, previous_response_id }: Pick<CreateResponse, 'input' | 'previous_response_id'>,
  recall?: (response_id: string) => readonly Item[] | null,
): Promise<EffectiveContext> {
  const entries = normalizeInput(input)
  const history =
    previous_response_id === undefined
      ? []
      : (recall?.(previous_response_id) ?? (await loadHistory(ctx, principal, previous_response_id)))
  const own = await withoutReferences(ctx, principal, entries, history)
  const before = history.map((item) => ({ item, path: 'previous_response_id' }))
  return { history, input: own.map(({ item }) => item), context: [...before, ...own] }
}

/** Items of the history are at hand; the others are looked up together. */
async function withoutReferences(
  ctx: Pick<Context, 'db'>,
  principal: Pick<Principal, 'org_id' | 'user_id'>,
  entries: readonly InputEntry[],
  history: readonly Item[],
): Promise<ContextItem[]> {
  const references = entries.flatMap(({ item }) => (item.type === 'item_reference' ? [item.id] : []))
  if (references.length === 0) return entries as ContextItem[]
  const known = new Map(history.map((item) => [item.id, item]))
  const unknown = references.filter((id) => !known.has(id))
  const found = await resolveReferences(ctx, principal, unknown)
  const referred = (id: string): Item => known.get(id) ?? found.get(id)!
  await requireRoom(references.map(referred))
  return entries.map(({ item, path }) => ({ item: item.type === 'item_reference' ? referred(item.id) : item, path }))
}
