import type { Changes } from '../platform/db/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { findSwitches, INTAKE, SWITCH_TOPIC, switchOfEngine } from './store-switches.ts'

/** What operators have paused, as this process knows it. */
export type Switches = {
  /** Whether nothing new may start at an engine, by one of its names. */
  isPaused(...engine_names: string[]): boolean
  /** Throws ApiError `intake_paused` while no new work is taken. */
  requireIntake(): void
}

/** An announcement may be missed. */
const READ_SECONDS = 10
/** `Retry-After` of refused work. */
const RETRY_SECONDS = 30

/** Reads what is paused, and again whenever that is announced. While the database is away, what was read last holds. */
export async function openSwitches({
  db,
  changes,
  log,
}: {
  db: Db
  changes: Pick<Changes, 'on'>
  log: Log
}): Promise<Switches & { close(): void }> {
  let names: ReadonlySet<string> = new Set()
  let latest = 0
  const read = async () => {
    latest += 1
    const own = latest
    const rows = await findSwitches(db)
    // An older reading may arrive later.
    if (own === latest) names = new Set(rows.map(({ name }) => name))
  }
  const readAgain = () => void read().catch((error: unknown) => log.debug('switches_not_read', { error }))
  await read()
  const stopListening = changes.on(SWITCH_TOPIC, readAgain)
  const timer = setInterval(readAgain, READ_SECONDS * 1000).unref()
  return {
    isPaused: (...engine_names) => names.size > 0 && engine_names.some((name) => names.has(switchOfEngine(name))),
    requireIntake() {
      if (!names.has(INTAKE)) return
      const text = 'The operator has paused new work for a while. What was accepted goes on. Try again later.'
      throw new ApiError('intake_paused', text, { retry_after_seconds: RETRY_SECONDS, overload: 'paused' })
    },
    close() {
      clearInterval(timer)
      stopListening()
    },
  }
}
