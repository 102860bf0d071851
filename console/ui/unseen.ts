import { useSyncExternalStore } from 'react'

/** What was announced and not looked at yet, by its id: the browser's tab counts it. */
let unseen: ReadonlySet<string> = new Set()
const listeners = new Set<() => void>()

export function addUnseen(ids: readonly string[]): void {
  set(new Set([...unseen, ...ids]))
}

/** They were looked at; all of them without `ids`. */
export function markSeen(ids: readonly string[] = [...unseen]): void {
  if (ids.some((id) => unseen.has(id))) set(new Set([...unseen].filter((id) => !ids.includes(id))))
}

export function useUnseenCount(): number {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => unseen.size,
  )
}

function set(next: ReadonlySet<string>): void {
  unseen = next
  for (const listener of listeners) listener()
}
