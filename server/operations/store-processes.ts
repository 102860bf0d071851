import { sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'

/** What a process says of itself. */
export type ProcessState = Record<string, never>

export type ProcessRow = { node_id: string; pid: number; reported_at: Date; away: string[]; state: ProcessState }

declare module '../platform/db/db.ts' {
  interface Database {
    process_states: Omit<ProcessRow, 'state' | 'reported_at'> & { state: string; reported_at: Date }
  }
}

type Process = Pick<ProcessRow, 'node_id' | 'pid'>

/** A process reports every ten seconds. One that has not for this long stands still, or has ended. */
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

/** Forgets processes that were killed, as nodes are forgotten. */
export async function deleteSilentProcesses(db: Db): Promise<void> {
  await db.deleteFrom('process_states').where('reported_at', '<', sql<Date>`now() - interval '1 hour'`).execute()
}
