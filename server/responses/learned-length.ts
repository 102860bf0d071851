import type { ChatEngine } from '../engines/chat.ts'
import type { Served } from '../engines/registry.ts'

/** By engine and its name for the model, so that there are no more than configured models. Forgotten with the process. */
const learned = new WeakMap<ChatEngine, Map<string, number>>()

/** Remembers how many tokens a model takes, as its server said when it refused a request. */
export function learnLength({ engine, model }: Served<ChatEngine>, limit: number): void {
  const lengths = learned.get(engine) ?? new Map<string, number>()
  learned.set(engine, lengths.set(model, limit))
}

/** What its server has said, or null. */
export function learnedLength({ engine, model }: Served<ChatEngine>): number | null {
  return learned.get(engine)?.get(model) ?? null
}
