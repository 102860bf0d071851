import { forgetAuditState, saveAuditState } from '../billing/audit-state.ts'
import type { Context } from '../context.ts'
import type { Db } from '../platform/db/db.ts'
import type { Sweep } from '../platform/sweep.ts'
import { type AuditRow, runAudit } from './audit.ts'

/** Invariants of money and slots: while one is broken no new video job is taken. Source: docs/reliability.md. */
const STOPPING: ReadonlySet<string> = new Set(['I1', 'I2', 'I3', 'I4'])
const AUDIT_SECONDS = 3600

/**
 * Checks every invariant hourly and logs each broken one. A broken I1 to I4 is logged as an error and stops new video jobs on every process, until an
 * audit finds all of them whole.
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
      forgetAuditState(ctx)
    },
  }
}

/** Writes down what an audit found, for every process to go by, whoever ran it. */
export async function recordAudit(db: Db, rows: readonly AuditRow[], now: Date): Promise<void> {
  const found = new Set(rows.filter(({ violations }) => violations > 0).map(({ invariant }) => invariant))
  await saveAuditState(db, { checked_at: now, broken: [...found].filter((each) => STOPPING.has(each)).sort() })
}
