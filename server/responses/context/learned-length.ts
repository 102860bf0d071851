import type { ChatEngine } from '../../engines/chat/contract.ts'
import type { Served } from '../../engines/registry.ts'

/** By engine, then by organization and the engine's name for the model. Forgotten with the process. */
const learned = new WeakMap<ChatEngine, Map<string, number>>()

/**
 * Remembers how many tokens a model takes, as its server said when it refused a request of this organization. Servers repeat words of a
 * request in what they say, so that nothing learned from one organization may shorten what another asks.
 */
export function learnLength(org_id: string, { engine, model }: Served<ChatEngine>, limit: number): void {
  const lengths = learned.get(engine) ?? new Map<string, number>()
  learned.set(engine, lengths.set(`${org_id}/${model}`, limit))
}

/** What its server has said to this organization, or null. */
export function learnedLength(org_id: string, { engine, model }: Served<ChatEngine>): number | null {
  return learned.get(engine)?.get(`${org_id}/${model}`) ?? null
}
