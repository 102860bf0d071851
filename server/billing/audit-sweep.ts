import type { Context } from '../context.ts'
import type { Db } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { Sweep } from '../platform/sweep.ts'
import { type AuditRow, runAudit } from './audit.ts'
import { findAuditState, saveAuditState } from './store-audit.ts'

/** Invariants of money and slots: while one is broken no new video job is taken. Source: docs/reliability.md. */
const STOPPING: ReadonlySet<string> = new Set(['I1', 'I2', 'I3', 'I4'])
const AUDIT_SECONDS = 3600
/** How long a process goes by what it has read. */
const RECALL_SECONDS = 5
const RETRY_SECONDS = 60

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
      recalled.delete(ctx)
    },
  }
}

/** Writes down what an audit found, for every process to go by, whoever ran it. */
export async function recordAudit(db: Db, rows: readonly AuditRow[], now: Date): Promise<void> {
  const found = new Set(rows.filter(({ violations }) => violations > 0).map(({ invariant }) => invariant))
  await saveAuditState(db, { checked_at: now, broken: [...found].filter((each) => STOPPING.has(each)).sort() })
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
