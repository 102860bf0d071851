/** What this process found lost, by the monotonic clock in milliseconds. `until_ms` null: it still is. */
export type Sighting = { subject: string; since_ms: number; until_ms: number | null; detail: string }

export type Sightings = {
  /** `subject` has been lost since then; called again, only the detail is new. */
  lost(subject: string, about: { since_ms?: number; detail: string }): void
  /** It has been back since then. */
  back(subject: string, until_ms?: number): void
  /** What is lost now, and what was lost and is not yet forgotten, oldest first. */
  list(): readonly Sighting[]
  /** Forgets those of a former list that were back by then. */
  forget(written: readonly Sighting[]): void
  /** Called with each change but those of a detail. */
  onChange(listener: () => void): void
}

/** Ended ones that wait to be written, at most: the oldest are dropped. */
const ENDED_MAX = 100
const DETAIL_LENGTH_MAX = 400

/** Remembers what a process finds lost until it is written down, which it cannot be while the database is away. */
export function openSightings(): Sightings {
  const lasting = new Map<string, Sighting>()
  const ended: Sighting[] = []
  let changed = () => {}
  return {
    lost(subject, { since_ms = performance.now(), detail: text }) {
      const detail = text.slice(0, DETAIL_LENGTH_MAX)
      const known = lasting.get(subject)
      lasting.set(subject, { subject, since_ms: known?.since_ms ?? since_ms, until_ms: null, detail })
      if (known === undefined) changed()
    },
    back(subject, until_ms = performance.now()) {
      const known = lasting.get(subject)
      if (known === undefined) return
      lasting.delete(subject)
      ended.push({ ...known, until_ms })
      ended.splice(0, ended.length - ENDED_MAX)
      changed()
    },
    list: () => [...ended, ...lasting.values()],
    forget(written) {
      const gone = new Set(written)
      for (let i = ended.length - 1; i >= 0; i--) if (gone.has(ended[i]!)) ended.splice(i, 1)
    },
    onChange(listener) {
      changed = listener
    },
  }
}
