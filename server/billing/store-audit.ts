import type { Generated } from 'kysely'
import type { Db } from '../platform/db.ts'

/** The last audit; `broken` names those of I1 to I4 that were. */
export type AuditState = { checked_at: Date; broken: string[] }

declare module '../platform/db.ts' {
  interface Database {
    audit_state: AuditState & { single: Generated<boolean> }
  }
}

/** Null: no audit has run yet. */
export async function findAuditState(db: Db): Promise<AuditState | null> {
  return (await db.selectFrom('audit_state').select(['checked_at', 'broken']).executeTakeFirst()) ?? null
}

export async function saveAuditState(db: Db, state: AuditState): Promise<void> {
  await db
    .insertInto('audit_state')
    .values(state)
    .onConflict((conflict) => conflict.column('single').doUpdateSet(state))
    .execute()
}
