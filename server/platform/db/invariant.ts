import type { RawBuilder } from 'kysely'

/** A rule that always holds, with the query that finds the rows breaking it. `invariant` is its number in docs/reliability.md. */
export type Invariant = {
  invariant: `I${number}`
  title: string
  /** Selects the rows that break the rule at `now`, the time by which retention is judged. */
  broken(now: Date): RawBuilder<unknown>
}
