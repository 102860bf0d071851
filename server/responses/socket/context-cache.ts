import type { Item } from '../schema/items.ts'

/** The contexts that one connection may continue: of the latest response of each of its streams, as far as there is room. */
export type ContextCache = {
  /** The context of the response after this one; null when it is not cached, or another caller's. */
  get(response_id: string, owner: string): readonly Item[] | null
  /** Replaces the entry of the stream. */
  set(stream_id: string | undefined, entry: CachedContext): void
  /** Size of the cached context; 0 when there is none. */
  bytesOf(response_id: string): number
  delete(response_id: string): void
  /** To be called at the end of the connection. */
  clear(): void
}

/** `bytes` is the size of the context as JSON. */
export type CachedContext = { response_id: string; owner: string; context: readonly Item[]; bytes: number }

/** Limit of all connections of a process together. In memory, contexts take two to four times their size as JSON. */
const CACHE_BYTES_MAX = 128 * 1024 * 1024
const STREAMS_MAX = 16

/**
 * Opens caches of connections that share one size limit: beyond it the oldest entry is dropped, and the conversation is read from the
 * store or sent again, as after a reconnect.
 */
export function openContextCaches({ bytes_max } = { bytes_max: CACHE_BYTES_MAX }): () => ContextCache {
  /** Oldest first, each with its key in the streams of its connection. */
  const all = new Map<CachedContext, { streams: Map<string, CachedContext>; key: string }>()
  let total = 0
  const drop = (entry: CachedContext | undefined): void => {
    const place = entry && all.get(entry)
    if (!place) return
    all.delete(entry)
    place.streams.delete(place.key)
    total -= entry.bytes
  }
  return () => {
    const streams = new Map<string, CachedContext>()
    const find = (response_id: string) => [...streams.values()].find((each) => each.response_id === response_id)
    return {
      get(response_id, owner) {
        const found = find(response_id)
        return found?.owner === owner ? found.context : null
      },
      set(stream_id, entry) {
        const key = JSON.stringify([stream_id])
        drop(streams.get(key))
        if (entry.bytes > bytes_max) return
        if (streams.size === STREAMS_MAX) drop(streams.values().next().value)
        streams.set(key, entry)
        all.set(entry, { streams, key })
        total += entry.bytes
        while (total > bytes_max) drop(all.keys().next().value)
      },
      bytesOf: (response_id) => find(response_id)?.bytes ?? 0,
      delete: (response_id) => drop(find(response_id)),
      clear() {
        for (const entry of [...streams.values()]) drop(entry)
      },
    }
  }
}
