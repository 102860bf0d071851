import type { Item } from './schema-items.ts'

/** What one connection remembers: its latest response, for as long as there is room. */
export type SocketMemory = {
  /** The whole context that a response after this one begins with; null when it is not the one remembered, or another caller's. */
  recall(response_id: string, owner: string): readonly Item[] | null
  /** Takes the place of what was remembered. `bytes` is what the context weighs as JSON. */
  remember(latest: { response_id: string; owner: string; context: readonly Item[]; bytes: number }): void
  /** What the remembered context weighs; 0 when it is another one. */
  bytesOf(response_id: string): number
  forget(response_id: string): void
  /** At the end of the connection. */
  clear(): void
}

/** What all connections of a process may remember together. Parsed, it takes two to four times as much. */
const MEMORY_BYTES_MAX = 128 * 1024 * 1024

/**
 * Memories of connections that share one allowance: beyond it the response that was remembered first is forgotten, as after a
 * reconnect.
 */
export function openSocketMemories({ bytes_max } = { bytes_max: MEMORY_BYTES_MAX }): () => SocketMemory {
  const latest = new Map<object, { response_id: string; owner: string; context: readonly Item[]; bytes: number }>()
  let total = 0
  const drop = (connection: object): void => {
    total -= latest.get(connection)?.bytes ?? 0
    latest.delete(connection)
  }
  return () => {
    const connection = {}
    const find = (response_id: string) => {
      const found = latest.get(connection)
      return found?.response_id === response_id ? found : null
    }
    return {
      recall(response_id, owner) {
        const found = find(response_id)
        return found?.owner === owner ? found.context : null
      },
      remember(response) {
        drop(connection)
        if (response.bytes > bytes_max) return
        latest.set(connection, response)
        total += response.bytes
        for (const oldest of latest.keys()) {
          if (total <= bytes_max) break
          drop(oldest)
        }
      },
      bytesOf: (response_id) => find(response_id)?.bytes ?? 0,
      forget(response_id) {
        if (find(response_id)) drop(connection)
      },
      clear: () => drop(connection),
    }
  }
}
