import type { Installation } from '../installation.ts'
import type { Kind } from '../load.ts'

/** One way to break an installation. */
export type Way = {
  name: string
  /** What happens, for the table. */
  what: string
  /** For how long it stays broken at least, in seconds. `short` is null where the short pass leaves it out. */
  seconds: { long: number; short: number | null }
  /** Why it cannot be tried here; null when it can. */
  missing?(): string | null
  /** Where clients connect in place of the balancer. */
  entry?(installation: Installation): Promise<string>
  break(installation: Installation): unknown
  repair?(installation: Installation): unknown
  expects: {
    /** What `/readyz` of a node comes to say before it is repaired. Afterwards both become ready. */
    a?: RegExp
    b?: RegExp
    /** What clients begin and end while it is broken. */
    goes_on?: readonly Kind[]
    /** Alerts that fire while it is broken, when it is broken for long enough; no other may. */
    alerts?: readonly string[]
    /** Those that may fire as well, by what share of the requests meets it. */
    perhaps?: readonly string[]
    /** Whether no client may see an error or a connection that ends. */
    unnoticed?: true
  }
}
