/** Work that is done at once when it is asked for, and then at most once in `pace_ms` while it is asked for again. */
export type Paced = {
  ask(): void
  /** What was asked for and not done yet is left undone. */
  stop(): void
}

export function paced(work: () => void, pace_ms: number): Paced {
  let resting: ReturnType<typeof setTimeout> | undefined
  let asked = false
  const run = () => {
    asked = false
    resting = setTimeout(() => {
      resting = undefined
      if (asked) run()
    }, pace_ms)
    work()
  }
  return {
    ask() {
      asked = true
      if (resting === undefined) run()
    },
    stop() {
      clearTimeout(resting)
      resting = undefined
      asked = false
    },
  }
}
