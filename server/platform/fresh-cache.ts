/** Values kept in bounded memory for a short time. */
export type FreshCache<V> = {
  /** The value for `key`, kept or loaded. Callers that miss together share one load. */
  find(key: string, load: () => Promise<V | null>): Promise<V | null>
  /** Loads the value for `key` whether or not one is kept, and keeps it unless it was forgotten or replaced meanwhile. */
  load(key: string, load: () => Promise<V | null>): Promise<V | null>
  /** The value for `key` if it is kept and still fresh. */
  recall(key: string): V | null
  /** Keeps a value that is known to be current. */
  keep(key: string, value: V): void
  /** Forgets the value of `key`; a load under way may have read an older one and is not kept. */
  forget(key: string): void
  /** Forgets every value that `matches`, and all loads under way. */
  drop(matches: (value: V) => boolean): void
  clear(): void
}

/**
 * A value is fresh for `ttl_ms` from the moment its load began, however slow the load was; a clock that goes back ends it. Null is not
 * kept. The oldest value makes room when there are more than `entries_max`. `now_ms` counts milliseconds.
 */
export function freshCache<V>(options: { ttl_ms: number; entries_max: number; now_ms: () => number }): FreshCache<V> {
  const { ttl_ms, entries_max, now_ms } = options
  const kept = new Map<string, { value: V; since: number }>()
  const loading = new Map<string, { started: Promise<V | null>; since: number }>()

  function keepSince(key: string, value: V, since: number): void {
    kept.delete(key)
    kept.set(key, { value, since })
    if (kept.size > entries_max) kept.delete(kept.keys().next().value!)
  }

  async function load(key: string, read: () => Promise<V | null>): Promise<V | null> {
    const since = now_ms()
    const started = read()
    loading.set(key, { started, since })
    try {
      const value = await started
      if (value !== null && loading.get(key)?.started === started) keepSince(key, value, since)
      return value
    } finally {
      if (loading.get(key)?.started === started) loading.delete(key)
    }
  }

  /** A load that is younger than what may be kept: an older one may have read what was changed since. */
  function underWay(key: string): Promise<V | null> | undefined {
    const found = loading.get(key)
    return found && now_ms() - found.since < ttl_ms ? found.started : undefined
  }

  function recall(key: string): V | null {
    const found = kept.get(key)
    if (!found) return null
    const age = now_ms() - found.since
    return age >= 0 && age < ttl_ms ? found.value : null
  }

  return {
    find: async (key, read) => recall(key) ?? underWay(key) ?? load(key, read),
    load,
    recall,
    keep(key, value) {
      loading.delete(key)
      keepSince(key, value, now_ms())
    },
    forget(key) {
      loading.delete(key)
      kept.delete(key)
    },
    drop(matches) {
      loading.clear()
      for (const [key, { value }] of kept) if (matches(value)) kept.delete(key)
    },
    clear() {
      loading.clear()
      kept.clear()
    },
  }
}
