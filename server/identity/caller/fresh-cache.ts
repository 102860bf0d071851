/** Answers kept for a few seconds, in bounded memory. */
export type FreshCache<V> = {
  /** The answer for `key`, kept or loaded. Callers that miss together share one load. */
  find(key: string, load: () => Promise<V | null>): Promise<V | null>
  /** The answer for `key` if it is kept and still good. */
  recall(key: string): V | null
  /** Forgets every answer that `matches`, and loads under way, which may have read what is no longer so. */
  drop(matches: (value: V) => boolean): void
  clear(): void
}

/**
 * An answer is good for `ttl_ms` from the moment its load began, so that it is never older than that, however slow the load.
 * Nothing is kept of a null. `monotonic` counts milliseconds.
 */
export function freshCache<V>(options: {
  ttl_ms: number
  entries_max: number
  monotonic: () => number
}): FreshCache<V> {
  const { ttl_ms, entries_max, monotonic } = options
  const kept = new Map<string, { value: V; until: number }>()
  let loading = new Map<string, Promise<V | null>>()

  function keep(key: string, value: V, until: number): void {
    kept.delete(key)
    kept.set(key, { value, until })
    if (kept.size > entries_max) kept.delete(kept.keys().next().value!)
  }

  async function loadOnce(key: string, load: () => Promise<V | null>): Promise<V | null> {
    const until = monotonic() + ttl_ms
    const loads = loading
    const started = load()
    loads.set(key, started)
    try {
      const value = await started
      if (value !== null && loads === loading) keep(key, value, until)
      return value
    } finally {
      loads.delete(key)
    }
  }

  function recall(key: string): V | null {
    const found = kept.get(key)
    return found && monotonic() < found.until ? found.value : null
  }

  return {
    find: async (key, load) => recall(key) ?? loading.get(key) ?? loadOnce(key, load),
    recall,
    drop: (matches) => {
      loading = new Map()
      for (const [key, { value }] of kept) if (matches(value)) kept.delete(key)
    },
    clear: () => {
      loading = new Map()
      kept.clear()
    },
  }
}
