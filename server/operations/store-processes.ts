import { sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'

/** An engine as a process sees it, with times in ISO 8601. `slots`: how many renders it may have at a time; null is no limit. */
export type EngineState = {
  name: string
  family: string
  /** Of ours that it serves; empty for moderation, translation and transcription. */
  model: string
  kind: string
  slots: number | null
  /** `partly_open`: some of its servers are left out. */
  breaker: 'closed' | 'open' | 'partly_open' | 'probing'
  /** Calls that have failed in a row, since when, and the last error. */
  failures: number
  failing_since: string | null
  last_failed_at: string | null
  last_error: string | null
}

/** What a process says of itself; empty once it stops. */
export type ProcessState = {
  version: string
  /** The last one it knows. */
  migration: string
  ready: boolean
  /** Why it is not ready. */
  reason: string | null
  storage: { kind: 'disk' | 's3'; state: string }
  /** On the disk of its data directory. */
  disk_free_bytes: number | null
  /** The longest that its event loop was blocked since the report before. */
  loop_delay_ms: number
  engines: EngineState[]
}

export type ProcessRow = {
  node_id: string
  pid: number
  reported_at: Date
  away: string[]
  state: Partial<ProcessState>
}

declare module '../platform/db/db.ts' {
  interface Database {
    process_states: Omit<ProcessRow, 'state' | 'reported_at'> & { state: string; reported_at: Date }
  }
}

type Process = Pick<ProcessRow, 'node_id' | 'pid'>

/** A process reports every ten seconds. One that has not for this long hangs, or has ended. */
export const SILENT_SECONDS = 30

export async function saveProcessState(db: Db, row: Omit<ProcessRow, 'reported_at'>): Promise<void> {
  const { node_id, pid, away, state } = row
  const values = { node_id, pid, away, state: JSON.stringify(state), reported_at: sql<Date>`now()` }
  await db
    .insertInto('process_states')
    .values(values)
    .onConflict((conflict) => conflict.columns(['node_id', 'pid']).doUpdateSet(values))
    .execute()
}

export async function deleteProcessState(db: Db, { node_id, pid }: Process): Promise<void> {
  await db.deleteFrom('process_states').where('node_id', '=', node_id).where('pid', '=', pid).execute()
}

export async function findProcesses(db: Db): Promise<ProcessRow[]> {
  const rows = await db.selectFrom('process_states').selectAll().orderBy('node_id').orderBy('pid').execute()
  return rows.map((row) => ({ ...row, state: row.state as unknown as Partial<ProcessState> }))
}

/** Forgets processes that were killed, as nodes are forgotten. */
export async function deleteSilentProcesses(db: Db): Promise<void> {
  await db.deleteFrom('process_states').where('reported_at', '<', sql<Date>`now() - interval '1 hour'`).execute()
}
