/**
 * A queue whose owners take turns: whatever one of them adds, an item of another waits for at most one of it. The items of one owner keep
 * their order.
 */
export type FairQueue<T> = {
  add(owner: string, item: T): void
  /** Takes the first item of the owner whose turn it is, of those that `may` accepts. Looks at no more than one owner past those it refuses. */
  take(may?: (owner: string) => boolean): { owner: string; item: T } | undefined
  /** Removes an item that has not been taken. Returns whether it was there. */
  remove(owner: string, item: T): boolean
  size(owner?: string): number
}

export function openFairQueue<T>(): FairQueue<T> {
  // A map keeps the order in which keys were added: the owner whose turn is next comes first. No line is empty.
  const lines = new Map<string, T[]>()
  let size = 0
  return {
    add(owner, item) {
      const line = lines.get(owner)
      if (line) line.push(item)
      else lines.set(owner, [item])
      size += 1
    },
    take(may = () => true) {
      for (const [owner, line] of lines) {
        if (!may(owner)) continue
        const item = line.shift()!
        lines.delete(owner)
        if (line.length > 0) lines.set(owner, line)
        size -= 1
        return { owner, item }
      }
      return undefined
    },
    remove(owner, item) {
      const line = lines.get(owner)
      const place = line?.indexOf(item) ?? -1
      if (!line || place < 0) return false
      line.splice(place, 1)
      if (line.length === 0) lines.delete(owner)
      size -= 1
      return true
    },
    size: (owner) => (owner === undefined ? size : (lines.get(owner)?.length ?? 0)),
  }
}

/**
 * Runs work of a process: of each owner at most `each` pieces at a time, and of all owners at most `all`. Others wait, and owners take turns.
 * Rejects with the reason of `signal` when nobody wants the work any more before it begins.
 */
export function openShares({
  each,
  all = Number.POSITIVE_INFINITY,
}: {
  each: number
  all?: number
}): <T>(owner: string, work: () => Promise<T>, signal?: AbortSignal) => Promise<T> {
  const waiting = openFairQueue<() => void>()
  const running = new Map<string, number>()
  let count = 0
  const change = (owner: string, by: 1 | -1) => {
    const now = (running.get(owner) ?? 0) + by
    if (now > 0) running.set(owner, now)
    else running.delete(owner)
    count += by
  }
  const mayBegin = (owner: string) => (running.get(owner) ?? 0) < each
  /** Not twice in a row while others wait. */
  let last: string | undefined
  const startNext = () => {
    while (count < all) {
      const next = waiting.take((owner) => owner !== last && mayBegin(owner)) ?? waiting.take(mayBegin)
      if (!next) return
      last = next.owner
      change(next.owner, 1)
      next.item()
    }
  }
  return async (owner, work, signal) => {
    signal?.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const onAbort = () => {
      if (waiting.remove(owner, resolve)) reject(signal!.reason)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    waiting.add(owner, resolve)
    startNext()
    try {
      await promise
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
    try {
      return await work()
    } finally {
      change(owner, -1)
      startNext()
    }
  }
}
