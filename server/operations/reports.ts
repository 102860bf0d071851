import type { Kysely } from 'kysely'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/db.ts'
import type { Log } from '../platform/log.ts'
import type { Sighting, Sightings } from './sightings.ts'
import { beginIncident, endIncident, lockIncidents } from './store-incidents.ts'
import { deleteProcessState, type ProcessState, saveProcessState } from './store-processes.ts'

const REPORT_SECONDS = 10
/** Between two reports, however often something is lost and back. */
const PAUSE_MILLISECONDS = 1000

type Options = {
  db: Kysely<Database>
  clock: Clock
  log: Log
  node_id: string
  sightings: Sightings
  /** What the process says of itself. */
  describe: () => Promise<Partial<ProcessState>>
}

/**
 * Reports what this process is doing and what it finds lost: every ten seconds, and when something is lost or back. What it could not write
 * while the database was away it writes when it is back. `close` withdraws the report.
 */
export function openReports({ db, clock, log, node_id, sightings, describe }: Options): { close(): Promise<void> } {
  const process_key = { node_id, pid: process.pid }
  let running: Promise<void> | null = null
  let isDue = false
  let closed = false

  async function write(state: Partial<ProcessState>, seen: readonly Sighting[]): Promise<void> {
    const ahead = clock.now().getTime() - performance.now()
    const at = (ms: number) => new Date(ahead + ms)
    const away = seen.flatMap(({ subject, until_ms }) => (until_ms === null ? [subject] : []))
    await db.transaction().execute(async (tx) => {
      await saveProcessState(tx, { ...process_key, away, state })
      if (seen.length > 0) await lockIncidents(tx)
      for (const { subject, since_ms, until_ms, detail } of seen) {
        await beginIncident(tx, { subject, node_id, since: at(since_ms), detail })
        if (until_ms !== null) await endIncident(tx, { subject, until: at(until_ms), except: process_key })
      }
    })
    sightings.forget(seen)
  }

  async function report(): Promise<void> {
    try {
      do {
        isDue = false
        await write(await describe(), sightings.list())
      } while (isDue && !closed)
    } catch (error) {
      log.debug('report_failed', { error })
    }
  }

  const begin = () => {
    if (closed) return
    isDue = true
    running ??= report().finally(() => {
      running = null
    })
  }
  let soon: NodeJS.Timeout | null = null
  sightings.onChange(() => {
    soon ??= setTimeout(() => {
      soon = null
      begin()
    }, PAUSE_MILLISECONDS).unref()
  })
  const timer = setInterval(begin, REPORT_SECONDS * 1000).unref()
  begin()
  return {
    async close() {
      closed = true
      clearInterval(timer)
      clearTimeout(soon ?? undefined)
      await running
      for (const { subject } of sightings.list()) sightings.back(subject)
      await write({}, sightings.list()).catch(() => {})
      await deleteProcessState(db, process_key).catch(() => {})
    },
  }
}
