import type { Item } from '../schema/items.ts'

/** What one connection remembers: the latest response of each of its streams, for as long as there is room. */
export type SocketMemory = {
  /** The whole context that a response after this one begins with; null when it is not remembered, or another caller's. */
  recall(response_id: string, owner: string): readonly Item[] | null
  /** Takes the place of what was remembered of the stream. */
  remember(stream_id: string | undefined, latest: Remembered): void
  /** What the remembered context weighs; 0 when there is none. */
  bytesOf(response_id: string): number
  forget(response_id: string): void
  /** At the end of the connection. */
  clear(): void
}

/** `bytes` is what the context weighs as JSON. */
export type Remembered = { response_id: string; owner: string; context: readonly Item[]; bytes: number }

/** What all connections of a process may remember together. Parsed, it takes two to four times as much. */
const MEMORY_BYTES_MAX = 128 * 1024 * 1024
const STREAMS_MAX = 16

/**
 * Memories of connections that share one allowance: beyond it the response that was remembered first is forgotten, as after a
 * reconnect.
 */
export function openSocketMemories({ bytes_max } = { bytes_max: MEMORY_BYTES_MAX }): () => SocketMemory {
  /** Oldest first, each with the name it has in the streams of its connection. */
  const all = new Map<Remembered, { streams: Map<string, Remembered>; name: string }>()
  let total = 0
  const drop = (response: Remembered | undefined): void => {
    const place = response && all.get(response)
    if (!place) return
    all.delete(response)
    place.streams.delete(place.name)
    total -= response.bytes
  }
  return () => {
    const streams = new Map<string, Remembered>()
    const find = (response_id: string) => [...streams.values()].find((each) => each.response_id === response_id)
    return {
      recall(response_id, owner) {
        const found = find(response_id)
        return found?.owner === owner ? found.context : null
      },
      remember(stream_id, latest) {
        const name = JSON.stringify([stream_id])
        drop(streams.get(name))
        if (latest.bytes > bytes_max) return
        if (streams.size === STREAMS_MAX) drop(streams.values().next().value)
        streams.set(name, latest)
        all.set(latest, { streams, name })
        total += latest.bytes
        while (total > bytes_max) drop(all.keys().next().value)
      },
      bytesOf: (response_id) => find(response_id)?.bytes ?? 0,
      forget: (response_id) => drop(find(response_id)),
      clear() {
        for (const response of [...streams.values()]) drop(response)
      },
    }
  }
}
