import { sql } from 'kysely'
import { AUDIT_TOPIC, saveAuditState } from '../billing/audit-state.ts'
import { billingInvariants } from '../billing/invariants.ts'
import type { Context } from '../context.ts'
import { conversationInvariants } from '../conversations/invariants.ts'
import { fileInvariants } from '../files/invariants.ts'
import type { Db } from '../platform/db/db.ts'
import type { Invariant } from '../platform/db/invariant.ts'
import type { Sweep } from '../platform/sweep.ts'
import { responseInvariants } from '../responses/invariants.ts'
import { videoInvariants } from '../videos/invariants.ts'
import { webhookInvariants } from '../webhooks/invariants.ts'

/** Every invariant that SQL can check. Source: docs/reliability.md. */
const INVARIANTS: readonly Invariant[] = [
  ...billingInvariants,
  ...fileInvariants,
  ...videoInvariants,
  ...responseInvariants,
  ...webhookInvariants,
  ...conversationInvariants,
]

/** Invariants of money and slots: while one is broken no new video job is accepted. Source: docs/reliability.md. */
export const STOPPING: ReadonlySet<string> = new Set(['I1', 'I2', 'I3', 'I4'])
const AUDIT_SECONDS = 3600

/** One invariant, and how many rows break it. */
export type AuditRow = { invariant: string; title: string; violations: number }

/**
 * Checks every invariant in one snapshot, so that work in flight does not show as a violation. `now` is the time by which retention is
 * judged; by default the database's.
 */
export async function runAudit(db: Db, now?: Date): Promise<AuditRow[]> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      const rows: AuditRow[] = []
      const judged_at = now ?? (await databaseTime(tx))
      for (const { invariant, title, broken } of INVARIANTS) {
        const count = sql<{
          violations: bigint
        }>`-- takes long\n          select count(*) as violations from (${broken(judged_at)}) as broken`
        const { rows: counted } = await count.execute(tx)
        rows.push({ invariant, title, violations: Number(counted[0]!.violations) })
      }
      return rows
    })
}

async function databaseTime(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select now()`.execute(db)
  return rows[0]!.now
}

/**
 * Checks every invariant hourly and logs each broken one. A broken I1 to I4 is logged as an error and stops new video jobs on every
 * process, until a later audit finds all four intact.
 */
export function auditSweep(ctx: Context): Sweep {
  return {
    name: 'audit',
    every_seconds: AUDIT_SECONDS,
    async run() {
      const now = ctx.clock.now()
      const rows = (await runAudit(ctx.db, now)).filter(({ violations }) => violations > 0)
      for (const { invariant, title, violations } of rows) {
        const level = STOPPING.has(invariant) ? 'error' : 'warn'
        ctx.log[level]('invariant_broken', { invariant, detail: title, count: violations })
      }
      await recordAudit(ctx.db, rows, now)
      ctx.changes.announce(AUDIT_TOPIC, 'state')
    },
  }
}

/** Stores what an audit found. Every process reads it, whichever ran the audit. */
export async function recordAudit(db: Db, rows: readonly AuditRow[], now: Date): Promise<void> {
  const found = new Set(rows.filter(({ violations }) => violations > 0).map(({ invariant }) => invariant))
  await saveAuditState(db, { checked_at: now, broken: [...found].filter((each) => STOPPING.has(each)).sort() })
}
