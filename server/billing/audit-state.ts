import type { Generated } from 'kysely'
import type { Context } from '../context.ts'
import type { Db } from '../platform/db/db.ts'
import { ApiError } from '../platform/errors.ts'

/** How long a process relies on what it has read. */
const RECALL_SECONDS = 5
const RETRY_SECONDS = 60

/** The last audit; `broken` names those of I1 to I4 that were. */
export type AuditState = { checked_at: Date; broken: string[] }

declare module '../platform/db/db.ts' {
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

/** Throws ApiError `server_is_overloaded` while I1 to I4 are not known to hold: reads the database at most every five seconds. */
export async function requireSoundBooks(ctx: Context): Promise<void> {
  const now = ctx.clock.now().getTime()
  let state = recalled.get(ctx)
  if (!state || Math.abs(now - state.read_at) >= RECALL_SECONDS * 1000) {
    state = { read_at: now, broken: (await findAuditState(ctx.db))?.broken ?? [] }
    recalled.set(ctx, state)
  }
  if (state.broken.length === 0) return
  throw new ApiError('server_is_overloaded', 'New video jobs are paused while the operator checks the accounts.', {
    retry_after_seconds: RETRY_SECONDS,
    internal: `broken in the last audit: ${state.broken.join(', ')}`,
  })
}

const recalled = new WeakMap<Context, { read_at: number; broken: readonly string[] }>()

/** What was read is read again the next time. */
export function forgetAuditState(ctx: Context): void {
  recalled.delete(ctx)
}
