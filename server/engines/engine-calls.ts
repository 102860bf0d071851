import { EngineError, type EngineErrorKind, withReason } from './engine-error.ts'

/** Calls of one kind that have failed in a row. Times by the monotonic clock. `error`: the last one, for operators alone. */
export type FailedCalls = { call: string; failures: number; since_ms: number; last_ms: number; error: string }

/** How the engines that a process calls have done lately. */
export type EngineCalls = {
  worked(engine: string, call: string): void
  failed(engine: string, call: string, error: unknown): void
  /** The longest row of failures of an engine; null when its last calls worked. */
  failuresOf(engine: string): FailedCalls | null
  /** Forgets engines that nobody has called for a quarter of an hour: nothing is known of them any more. */
  forgetOld(): void
  /** Called when an engine is lost, with each further failure, and with null when it is back. */
  onChange(listener: (engine: string, lost: FailedCalls | null) => void): void
}

/** So many failures in a row, and an engine is lost. As the circuit breakers have it. */
const FAILURES_MAX = 3
const KNOWN_MS = 15 * 60_000

const OF_REQUEST: ReadonlySet<EngineErrorKind> = new Set(['rejected', 'moderation', 'context_length'])

/** Whether an engine works and refuses the one request. */
export function isOfRequest(error: unknown): boolean {
  return error instanceof EngineError && OF_REQUEST.has(error.kind)
}

export function openEngineCalls(now: () => number = () => performance.now()): EngineCalls {
  const engines = new Map<string, Map<string, FailedCalls>>()
  let changed: Parameters<EngineCalls['onChange']>[0] = () => {}

  function failuresOf(engine: string): FailedCalls | null {
    const rows = [...(engines.get(engine)?.values() ?? [])]
    return rows.sort((a, b) => b.failures - a.failures)[0] ?? null
  }

  function drop(engine: string, call: string): void {
    const rows = engines.get(engine)
    if (!rows?.has(call)) return
    const wasLost = isLost(failuresOf(engine))
    rows.delete(call)
    if (wasLost && !isLost(failuresOf(engine))) changed(engine, null)
  }

  return {
    failuresOf,
    worked: drop,
    failed(engine, call, error) {
      if (!(error instanceof EngineError) || isOfRequest(error)) return
      const rows = engines.get(engine) ?? new Map<string, FailedCalls>()
      engines.set(engine, rows)
      const { failures = 0, since_ms = now() } = rows.get(call) ?? {}
      rows.set(call, { call, failures: failures + 1, since_ms, last_ms: now(), error: withReason(error) })
      const longest = failuresOf(engine)
      if (isLost(longest)) changed(engine, longest)
    },
    forgetOld() {
      for (const [engine, rows] of engines)
        for (const { call, last_ms } of [...rows.values()]) if (last_ms < now() - KNOWN_MS) drop(engine, call)
    },
    onChange(listener) {
      changed = listener
    },
  }
}

function isLost(failed: FailedCalls | null): boolean {
  return failed !== null && failed.failures >= FAILURES_MAX
}
