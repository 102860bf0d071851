/** What this browser keeps for a person, such as a conversation that is stored nowhere else. Gone when they sign out. */
const PREFIX = 'kinora.kept.'

const listeners = new Set<() => void>()

/** What was kept under the name; null for nothing, or when the storage is closed to us. */
export function readKept(name: string): unknown {
  try {
    const text = localStorage.getItem(PREFIX + name)
    return text === null ? null : JSON.parse(text)
  } catch {
    return null
  }
}

/** Keeps a value; whether there was room for it. */
export function keep(name: string, value: unknown): boolean {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value))
    return true
  } catch {
    return false
  }
}

/** Removes what was kept, all of it or that whose name fits. */
export function forgetKept(fits: (name: string) => boolean = () => true): void {
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX))
    for (const key of keys) if (fits(key.slice(PREFIX.length))) localStorage.removeItem(key)
  } catch {
    // Storage is closed to us: nothing was kept.
  }
}

/** The person leaves: whatever is kept goes, and those who hold a copy in memory hear of it first. */
export function forgetPerson(): void {
  for (const heard of listeners) heard()
  forgetKept()
}

/** Calls back when the person signs out. */
export function onForgetPerson(heard: () => void): void {
  listeners.add(heard)
}
