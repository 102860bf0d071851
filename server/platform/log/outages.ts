import { setTimeout as sleep } from 'node:timers/promises'
import type { Log, LogFields } from '../log.ts'
import { withTimeout } from '../timeout.ts'

/** What the service cannot do without for long. */
export type Dependency = {
  name: 'database' | 'storage'
  /** Whether an error may be of its being away: the check decides. */
  mayExplain(error: unknown): boolean
  /** An event that is a sign of its being away and no failed work. */
  sign?: string
  /** Throws while it is away. */
  check(): Promise<unknown>
}

/** An outage, at its begin and again at its end, by the monotonic clock. `until_ms` null: it lasts. `error`: the first one. */
export type DependencyOutage = { name: Dependency['name']; since_ms: number; until_ms: number | null; error: unknown }

type Level = keyof Log
type Line = { level: Level; event: string; fields: LogFields }
/** What failed since an examination began. `all`: lines, with those that are a sign and nothing else. */
type Failed = { all: number; requests: number; work: number }

/** Longest a check may take; one that takes longer has failed. */
const CHECK_SECONDS = 2
/** Between two checks of an outage. */
const AGAIN_SECONDS = 1
/** After the first check that succeeds: what began to connect before it may fail as late as this. */
const SETTLE_SECONDS = 10
/** Most lines that wait for a check. */
const LINES_MAX = 100

/**
 * The same log, in which an outage of a dependency is two lines instead of one for each error: its begin, with the first error, and its end,
 * with how long it took and how many requests and pieces of work failed. An error that may be of an outage waits for the check: it is written
 * as it is when the dependency works. `on_outage` gets both too. `close` waits for a check that is running.
 */
export function logOutages(
  log: Log,
  dependencies: readonly Dependency[],
  {
    pause = pauseUnlessClosed,
    on_outage = () => {},
  }: { pause?: Pause; on_outage?: (outage: DependencyOutage) => void } = {},
): { log: Log; close(): Promise<void> } {
  const closed = new AbortController()
  const watched = dependencies.map((dependency) => watch(dependency, { log, pause, on_outage, closed: closed.signal }))
  const at =
    (level: Level) =>
    (event: string, fields: LogFields = {}) => {
      const { error } = fields
      const away = error === undefined ? undefined : watched.find(({ mayExplain }) => mayExplain(error))
      if (away && !closed.signal.aborted) away.add({ level, event, fields })
      else log[level](event, fields)
    }
  return {
    log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    async close() {
      closed.abort()
      await Promise.all(watched.map(({ examined }) => examined()))
    },
  }
}

type Pause = (seconds: number, signal: AbortSignal) => Promise<void>
type Watching = { log: Log; pause: Pause; on_outage: (outage: DependencyOutage) => void; closed: AbortSignal }

function watch({ name, mayExplain, sign, check }: Dependency, { log, pause, on_outage, closed }: Watching) {
  let failed: Failed | null = null
  /** Until the check has ended. */
  let lines: Line[] = []
  let examining = Promise.resolve()

  async function examine(counted: Failed): Promise<void> {
    const since = performance.now()
    const works = await succeeds(check)
    const [first, ...others] = lines
    lines = []
    if (works || closed.aborted) {
      failed = null
      return write([first!, ...others], counted)
    }
    const { error } = first!.fields
    log.error(`${name}_away`, { error })
    on_outage({ name, since_ms: since, until_ms: null, error })
    const back = await untilBack()
    failed = null
    if (back === null) return
    on_outage({ name, since_ms: since, until_ms: back, error })
    const duration_ms = Math.round(back - since)
    log.warn(`${name}_back`, { duration_ms, failed_requests: counted.requests, failed_work: counted.work })
  }

  function write(kept: readonly Line[], { all }: Failed): void {
    for (const { level, event, fields } of kept) log[level](event, fields)
    if (all > kept.length) log.error('log_lines_dropped', { count: all - kept.length })
  }

  /** When it came back, by the monotonic clock; null when the process closes before. */
  async function untilBack(): Promise<number | null> {
    while (!closed.aborted) {
      await pause(AGAIN_SECONDS, closed)
      if (!(await succeeds(check))) continue
      const back = performance.now()
      await pause(SETTLE_SECONDS, closed)
      if (await succeeds(check)) return back
    }
    return null
  }

  return {
    mayExplain,
    examined: () => examining,
    add(line: Line): void {
      const begins = failed === null
      failed ??= { all: 0, requests: 0, work: 0 }
      failed.all += 1
      if (line.fields.request_id !== undefined) failed.requests += 1
      else if (line.event !== sign) failed.work += 1
      if (begins || (lines.length > 0 && lines.length < LINES_MAX)) lines.push(line)
      if (begins) examining = examine(failed)
    },
  }
}

async function succeeds(check: () => Promise<unknown>): Promise<boolean> {
  try {
    await withTimeout(CHECK_SECONDS * 1000, check(), () => {
      throw new Error('late')
    })
    return true
  } catch {
    return false
  }
}

async function pauseUnlessClosed(seconds: number, signal: AbortSignal): Promise<void> {
  await sleep(seconds * 1000, undefined, { signal, ref: false }).catch(() => {})
}
