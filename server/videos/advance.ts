import { captureHold, releaseHold } from '../billing/holds.ts'
import type { Context } from '../context.ts'
import { releasePins } from '../files/store-pins.ts'
import { addSeconds } from '../platform/clock.ts'
import type { Tx } from '../platform/db.ts'
import { failpoint } from '../platform/failpoint.ts'
import { FAILURES, isTerminal, type JobChanges, type ModerationNote, type Outcome } from './job.ts'
import { insertRecord } from './moderation/records.ts'
import { VIDEO_TOPIC } from './queues.ts'
import { changeJob, changeStatus, type VideoJobRow } from './store.ts'
import { keepUnsettledStart, recordRender } from './store-renders.ts'

/**
 * Applies what a step decided, in one transaction: status, money and moderation record stand or fall together.
 * Returns the job as it now is, with what was applied: a render that belongs to another job counts as a start that was not answered.
 * Null when another worker, a cancellation or a deletion got there first and nothing was done.
 */
export async function advance(
  ctx: Pick<Context, 'db' | 'clock' | 'changes' | 'log'>,
  job: VideoJobRow,
  outcome: Outcome,
): Promise<{ job: VideoJobRow; applied: Outcome } | null> {
  const applyTo = async (applied: Outcome) => {
    const changed = await apply(ctx, job, applied)
    return changed && { job: changed, applied }
  }
  try {
    return await applyTo(outcome)
  } catch (error) {
    if (!(error instanceof RenderTaken)) throw error
    ctx.log.error('render_taken', { video_id: job.id, attempt_id: job.attempt_id ?? undefined })
    return applyTo({ to: 'same', retry_after_seconds: 1, set: unknownStart(job) })
  }
}

/** What stands in the row after a start that was not answered. */
export function unknownStart(job: VideoJobRow): JobChanges {
  return { start_unknown: true, unknown_starts: Math.min(STARTS_UNKNOWN_MAX, job.unknown_starts + 1) }
}

/** So many starts of unknown outcome end a job: the first may be repeated, the repetition may not. */
export const STARTS_UNKNOWN_MAX = 2

/** The engine's render belongs to another job, so its ticket is not this job's. */
class RenderTaken extends Error {}

async function apply(
  ctx: Pick<Context, 'db' | 'clock' | 'changes'>,
  job: VideoJobRow,
  outcome: Outcome,
): Promise<VideoJobRow | null> {
  const now = ctx.clock.now()
  const record = async (tx: Tx, row: VideoJobRow | null) => {
    if (row === null || outcome.to === 'failed' || outcome.render_key === undefined) return row
    const { render_key } = outcome
    if (await recordRender(tx, { render_key, job_id: job.id, created_at: now })) return row
    throw new RenderTaken()
  }
  if (outcome.to === 'same') {
    const change = { set: outcome.set, next_run_at: addSeconds(now, outcome.retry_after_seconds) }
    const kept =
      outcome.render_key === undefined && !outcome.unpin
        ? await changeJob(ctx.db, job, change)
        : await ctx.db.transaction().execute(async (tx) => {
            const row = await record(tx, await changeJob(tx, job, change))
            if (row && outcome.unpin) await releasePins(tx, { holder: job.id, now })
            return row
          })
    if (kept && kept.progress !== job.progress) ctx.changes.announce(VIDEO_TOPIC, job.id)
    return kept
  }
  failpoint(`before_${outcome.to}`)
  const changed = await ctx.db.transaction().execute(async (tx) => {
    const row = await changeStatus(tx, job, {
      to: outcome.to,
      now,
      ...(outcome.to === 'failed'
        ? { error: { code: outcome.code, message: FAILURES[outcome.code] } }
        : { set: outcome.set }),
    })
    if (!row) return null
    await record(tx, row)
    if (outcome.record) await keepRecord(tx, row, outcome.record, now)
    await settle(tx, row, now)
    failpoint(`within_${outcome.to}`)
    return row
  })
  if (changed) {
    failpoint(`after_${outcome.to}`)
    ctx.changes.announce(VIDEO_TOPIC, changed.id)
  }
  return changed
}

/**
 * Settles a job that has just ended: a completed one is charged its quote, any other is never charged, and its files are unpinned. A start
 * that nobody will ask about any more is noted, so that its render is not taken for another job's.
 */
export async function settle(tx: Tx, job: VideoJobRow, now: Date): Promise<void> {
  if (!isTerminal(job.status)) return
  const settled = job.status === 'completed' ? await captureHold(tx, job, now) : await releaseHold(tx, job.id, now)
  if (!settled) throw new Error(`hold of ${job.id} was settled before the job ended`)
  const { id: job_id, attempt_id, ticket, start_key } = job
  const isUnsettled = attempt_id !== null && ticket === null && start_key !== null
  if (isUnsettled) await keepUnsettledStart(tx, { job_id, start_key, created_at: now })
  await releasePins(tx, { holder: job.id, now })
}

async function keepRecord(tx: Tx, job: VideoJobRow, note: ModerationNote, now: Date): Promise<void> {
  const { id: job_id, org_id, user_id } = job
  await insertRecord(tx, { job_id, org_id, user_id, ...note }, now)
}
