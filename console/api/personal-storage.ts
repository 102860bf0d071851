/** What this browser stores for a person, such as a draft. Removed when they sign out. */
const PREFIX = 'kinora.kept.'

const listeners = new Set<() => void>()

/** The value stored under a name; null when there is none or storage is unavailable. */
export function readStored(name: string): unknown {
  try {
    const text = localStorage.getItem(PREFIX + name)
    return text === null ? null : JSON.parse(text)
  } catch {
    return null
  }
}

/** Stores a value as JSON. Returns whether there was room for it. */
export function store(name: string, value: unknown): boolean {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value))
    return true
  } catch {
    return false
  }
}

/** The values stored under names that begin like this. */
export function readAllStored(beginning: string): unknown[] {
  try {
    const begin = PREFIX + beginning
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(begin))
    return keys.map((key) => readStored(key.slice(PREFIX.length)))
  } catch {
    return []
  }
}

/** Removes the stored values whose name matches. */
export function removeStored(matches: (name: string) => boolean): void {
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX))
    for (const key of keys) if (matches(key.slice(PREFIX.length))) localStorage.removeItem(key)
  } catch {
    // Storage is unavailable: nothing was stored.
  }
}

/** Notifies whoever holds a copy in memory that the person signs out, then removes everything stored. */
export function clearPersonalStorage(): void {
  for (const listener of listeners) listener()
  removeStored(() => true)
}

/** Calls back when the person signs out. */
export function onSignOut(listener: () => void): void {
  listeners.add(listener)
}
