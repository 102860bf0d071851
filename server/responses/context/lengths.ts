/**
 * Context lengths, in tokens, that model servers stated when they refused a request as too long. Kept by organization: servers repeat text
 * of a request in their errors, so what one organization provoked must not shorten the context of another. Lost with the process.
 */
export type ContextLengths = {
  /** Null when nothing was stated to this organization about this model. */
  get(org_id: string, model_id: string): number | null
  set(org_id: string, model_id: string, tokens: number): void
}

/** The oldest entry is dropped beyond this. */
const ENTRIES_MAX = 10_000

export function openContextLengths(): ContextLengths {
  const lengths = new Map<string, number>()
  return {
    get: (org_id, model_id) => lengths.get(`${org_id}/${model_id}`) ?? null,
    set(org_id, model_id, tokens) {
      lengths.set(`${org_id}/${model_id}`, tokens)
      if (lengths.size > ENTRIES_MAX) lengths.delete(lengths.keys().next().value!)
    },
  }
}
