import type { Generated } from 'kysely'
import type { Context } from '../context.ts'
import type { Db } from '../platform/db/db.ts'
import { overloaded } from '../platform/errors.ts'
import { freshCache } from '../platform/fresh-cache.ts'
import { takingTurnsAs } from '../platform/turns.ts'

/** How long a process relies on what it has read. */
const STATE_TTL_SECONDS = 5
/** `Retry-After` of a refused submission. */
const RETRY_SECONDS = 60

/** The last audit. `broken` holds those of I1 to I4 that it found broken. */
export type AuditState = { checked_at: Date; broken: string[] }

declare module '../platform/db/db.ts' {
  interface Database {
    audit_state: AuditState & { single: Generated<boolean> }
  }
}

/** Null when no audit has run yet. */
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

/** Announced with no particular id when an audit has been stored. */
export const AUDIT_TOPIC = 'audit'

/** Stops new video jobs while the last audit found I1 to I4 broken. */
export type AuditGate = {
  /** Throws ApiError `server_is_overloaded` while I1 to I4 are not known to hold. While they are, it reads the database at most every five seconds. */
  requireSoundAccounts(): Promise<void>
  close(): void
}

export function openAuditGate(ctx: Pick<Context, 'db' | 'clock' | 'changes'>): AuditGate {
  const now_ms = () => ctx.clock.now().getTime()
  const kept = freshCache<readonly string[]>({ ttl_ms: STATE_TTL_SECONDS * 1000, entries_max: 1, now_ms })
  return {
    async requireSoundAccounts() {
      // Whoever asks meanwhile shares what is read.
      const read = () => takingTurnsAs('', async () => (await findAuditState(ctx.db))?.broken ?? [])
      if ((await kept.find('broken', read))?.length === 0) return
      // Another process may have announced a clean audit that is not known here yet: a refusal is never from memory.
      const broken = (await kept.load('broken', read)) ?? []
      if (broken.length === 0) return
      throw overloaded('audit', 'New video jobs are paused while the operator checks the accounts.', {
        retry_after_seconds: RETRY_SECONDS,
        internal: `broken in the last audit: ${broken.join(', ')}`,
      })
    },
    close: ctx.changes.on(AUDIT_TOPIC, kept.clear),
  }
}
