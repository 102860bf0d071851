import { VALUE_BYTES } from '../../platform/http/body/byte-budget.ts'
import { countValues, jsonBytes } from '../../platform/json/write.ts'
import type { Item } from '../schema/items.ts'

/** The contexts that one connection may continue: of the latest response of each of its streams, as far as there is room. */
export type ContextCache = {
  /** The context of the response after this one; null when it is not cached, or another caller's. */
  get(response_id: string, owner: string): CachedContext | null
  /** Replaces the entry of the stream. */
  set(stream_id: string | undefined, entry: CachedContext): void
  /** Size of the cached context in memory; 0 when there is none. */
  bytesOf(response_id: string): number
  delete(response_id: string): void
  /** To be called at the end of the connection. */
  clear(): void
}

/** `owner`: organization and person, with a slash between. `bytes`: about what the context takes in memory. */
export type CachedContext = { response_id: string; owner: string; context: readonly Item[]; bytes: number }

/** Limits of all connections of a process together, and of those of one organization. */
export type CacheLimits = { bytes_max: number; organization_bytes_max: number }
const LIMITS: CacheLimits = { bytes_max: 128 * 1024 * 1024, organization_bytes_max: 64 * 1024 * 1024 }
const STREAMS_MAX = 16

/**
 * Opens caches of connections that share limits of size: beyond them the oldest entry is dropped, of the organization or of all, and the
 * conversation is read from the store or sent again, as after a reconnect.
 */
export function openContextCaches({ bytes_max, organization_bytes_max }: CacheLimits = LIMITS): () => ContextCache {
  /** Oldest first, each with its key in the streams of its connection. */
  const all = new Map<CachedContext, { streams: Map<string, CachedContext>; key: string }>()
  const bytes = new Map<string, number>()
  let total = 0
  const count = ({ owner }: CachedContext, change: number) => {
    const organization = organizationOf(owner)
    total += change
    bytes.set(organization, (bytes.get(organization) ?? 0) + change)
    if (bytes.get(organization) === 0) bytes.delete(organization)
  }
  const oldestOf = (organization: string) => all.keys().find(({ owner }) => organizationOf(owner) === organization)
  const drop = (entry: CachedContext | undefined): void => {
    const place = entry && all.get(entry)
    if (!place) return
    all.delete(entry)
    place.streams.delete(place.key)
    count(entry, -entry.bytes)
  }
  return () => {
    const streams = new Map<string, CachedContext>()
    const find = (response_id: string) => [...streams.values()].find((each) => each.response_id === response_id)
    return {
      get(response_id, owner) {
        const found = find(response_id)
        return found?.owner === owner ? found : null
      },
      set(stream_id, entry) {
        const key = JSON.stringify([stream_id])
        drop(streams.get(key))
        if (entry.bytes > organization_bytes_max) return
        if (streams.size === STREAMS_MAX) drop(streams.values().next().value)
        streams.set(key, entry)
        all.set(entry, { streams, key })
        count(entry, entry.bytes)
        const organization = organizationOf(entry.owner)
        while (bytes.get(organization)! > organization_bytes_max) drop(oldestOf(organization))
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

/** About what items take in memory: many small values take far more than their text. */
export async function contextBytes(items: readonly Item[]): Promise<number> {
  return (await jsonBytes(items)) + VALUE_BYTES * countValues(items)
}

function organizationOf(owner: string): string {
  return owner.slice(0, owner.indexOf('/'))
}
