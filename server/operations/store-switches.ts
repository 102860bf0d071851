import type { Db } from '../platform/db/db.ts'

/** What an operator has paused. `name`: `intake`, or `engine <name>`. */
export type SwitchRow = { name: string; state: 'paused' | 'draining'; since: Date; changed_by: string }

declare module '../platform/db/db.ts' {
  interface Database {
    switches: SwitchRow
  }
}

/** Announced with the name of what was paused or goes on. */
export const SWITCH_TOPIC = 'switch'
export const INTAKE = 'intake'
export const switchOfEngine = (engine: string) => `engine ${engine}`

export async function findSwitches(db: Db): Promise<SwitchRow[]> {
  return db.selectFrom('switches').selectAll().orderBy('name').execute()
}

/** Since when it is paused stays what it was. */
export async function saveSwitch(db: Db, row: SwitchRow): Promise<void> {
  const { state, changed_by } = row
  await db
    .insertInto('switches')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ state, changed_by }))
    .execute()
}

/** Whether it was paused. */
export async function deleteSwitch(db: Db, name: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('switches').where('name', '=', name).executeTakeFirst()
  return numDeletedRows > 0n
}
