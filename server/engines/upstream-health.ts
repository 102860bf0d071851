/**
 * Chooses among several servers of one model. Health is passive: the ends of calls decide, no extra requests are sent. After
 * `FAILURES_MAX` errors in a row, or when a server asks for a pause, its circuit breaker is open for a while; then one call is let through as a
 * probe, and its end decides. A server with a weight of 3 is chosen three times as often as one with 1.
 */
export type UpstreamHealth = {
  /**
   * The next server for a request that was at `tried` already, or null. `healthy`: only one that is believed to work; otherwise, when
   * none is, the one whose pause ends first, because trying is better than refusing.
   */
  pick(tried: readonly number[], options: { healthy: boolean }): number | null
  /** How a call ended. `neutral` does not count, as when the caller gave up. */
  report(upstream: number, end: 'worked' | 'failed' | 'neutral'): void
  /** The server asked not to be called for so long. */
  pause(upstream: number, seconds: number): void
  /** What is known of a server, for another choice that includes it. */
  stateOf(upstream: number): UpstreamState
}

/** `open_until` 0: in use. `opened`: how often in a row it was left out. `probing`: a call is out to see whether it works again. */
export type UpstreamState = { failures: number; opened: number; open_until: number; probing: boolean }

/** The circuit breaker of an engine, from those of its servers. */
export type BreakerState = 'closed' | 'open' | 'partly_open' | 'probing'

export function breakerOf(states: readonly UpstreamState[], now = performance.now()): BreakerState {
  const out = states.filter(({ open_until }) => open_until > 0)
  if (out.length === 0) return 'closed'
  if (out.length < states.length) return 'partly_open'
  return out.some(({ open_until, probing }) => probing || open_until <= now) ? 'probing' : 'open'
}

/** Whether a server is left out, or was and has not been called since, in the last minutes. */
export function isLeftOut({ open_until }: UpstreamState, now = performance.now()): boolean {
  return open_until > 0 && now < open_until + UNKNOWN_MS
}

/** `random` gives numbers from 0 to 1 without 1, `now` milliseconds that never go back. */
export type Chance = { random(): number; now(): number }

/** `known`: what another choice knows of some of the servers; both go on with the same state. */
export function upstreamHealth(
  weights: readonly number[],
  { random, now }: Chance,
  known: ReadonlyArray<UpstreamState | undefined> = [],
): UpstreamHealth {
  const states = weights.map(
    (_, i): UpstreamState => known[i] ?? { failures: 0, opened: 0, open_until: 0, probing: false },
  )

  const isUsable = (state: UpstreamState, time: number) =>
    state.open_until === 0 || (time >= state.open_until && !state.probing)

  return {
    pick(tried, { healthy }) {
      if (states.length === 1) return tried.length === 0 ? 0 : null
      const time = now()
      const left = states.map((_, i) => i).filter((i) => !tried.includes(i))
      const usable = left.filter((i) => isUsable(states[i]!, time))
      const chosen = usable.length > 0 ? byWeight(usable, weights, random()) : healthy ? null : soonest(left, states)
      if (chosen !== null && states[chosen]!.open_until > 0) states[chosen]!.probing = true
      return chosen
    },
    report(upstream, end) {
      const state = states[upstream]!
      const probed = state.probing
      state.probing = false
      if (end === 'worked') {
        state.failures = 0
        if (probed || now() >= state.open_until) Object.assign(state, { opened: 0, open_until: 0 })
      }
      if (end !== 'failed') return
      state.failures += 1
      if (state.failures < FAILURES_MAX) return
      state.opened += 1
      state.open_until = now() + Math.min(OPEN_MS * 2 ** (state.opened - 1), OPEN_MS_MAX)
    },
    pause(upstream, seconds) {
      const state = states[upstream]!
      state.open_until = Math.max(state.open_until, now() + Math.min(seconds * 1000, OPEN_MS_MAX))
    },
    stateOf: (upstream) => states[upstream]!,
  }
}

const FAILURES_MAX = 3
const OPEN_MS = 5_000
const OPEN_MS_MAX = 60_000
/** Once nobody has called a server for this long after its pause, nothing is known of it. */
const UNKNOWN_MS = 180_000

function byWeight(among: readonly number[], weights: readonly number[], chance: number): number {
  const total = among.reduce((sum, i) => sum + weights[i]!, 0)
  let left = chance * total
  for (const i of among) {
    left -= weights[i]!
    if (left < 0) return i
  }
  return among.at(-1)!
}

function soonest(among: readonly number[], states: readonly UpstreamState[]): number | null {
  if (among.length === 0) return null
  return among.reduce((best, i) => (states[i]!.open_until < states[best]!.open_until ? i : best))
}
