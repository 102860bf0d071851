import { type ReactNode, useSyncExternalStore } from 'react'
import { onSignOut } from '../../api/personal-storage.ts'

type Toast = { id: number; text: ReactNode; tone: 'success' | 'danger'; shown_ms: number }

const SHOWN_MS = 5000

let shown: readonly Toast[] = []
let next = 1
const listeners = new Set<() => void>()

/** Says briefly that something was done, or was not. What must be read belongs on the page. Returns the id of the toast. */
export function toast(text: ReactNode, tone: Toast['tone'] = 'success', shown_ms = SHOWN_MS): number {
  set([...shown.slice(-2), { id: next, text, tone, shown_ms }])
  return next++
}

function set(toasts: readonly Toast[]): void {
  shown = toasts
  for (const listener of listeners) listener()
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Those that are shown. */
export function useShown(): readonly Toast[] {
  return useSyncExternalStore(listen, () => shown)
}

/** Returns whether it was shown until now. */
export function closeToast(id: number): boolean {
  const before = shown
  set(before.filter((each) => each.id !== id))
  return shown.length < before.length
}

// A toast may quote what the person wrote.
onSignOut(() => set([]))
