type Closable = { close?(): Promise<void> }

/** Built engines by what they were built from. Configurations of one process share those whose entries are the same. */
export type SharedEngines = Map<string, { engine: Closable; users: number }>

/** The engines that one configuration uses of those it shares with others. */
export type TakenEngines = {
  /** The engine under this key, built now unless it is there. */
  take<E extends Closable>(key: string, build: () => E): E
  /** Closes the engines that no other configuration uses. */
  release(): Promise<void>
}

export function takeEngines(shared: SharedEngines): TakenEngines {
  const taken = new Map<string, Closable>()
  return {
    take<E extends Closable>(key: string, build: () => E): E {
      const mine = taken.get(key)
      if (mine !== undefined) return mine as E
      const entry = shared.get(key) ?? { engine: build(), users: 0 }
      entry.users += 1
      shared.set(key, entry)
      taken.set(key, entry.engine)
      return entry.engine as E
    },
    async release() {
      const unused: Closable[] = []
      for (const key of taken.keys()) {
        const entry = shared.get(key)!
        entry.users -= 1
        if (entry.users > 0) continue
        shared.delete(key)
        unused.push(entry.engine)
      }
      taken.clear()
      await Promise.all(unused.map((engine) => engine.close?.()))
    },
  }
}
