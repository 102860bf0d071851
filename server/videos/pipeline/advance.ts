import { settleHolds } from '../../billing/holds.ts'
import type { Context } from '../../context.ts'
import { DELIVERY_QUEUE } from '../../events/event.ts'
import { type NewEvent, recordEvents } from '../../events/store/events.ts'
import { releasePins } from '../../files/store/pins.ts'
import { recordActivity } from '../../identity/activity/activity.ts'
import { addSeconds } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db/db.ts'
import { writeGroupOrEach } from '../../platform/db/groups.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { QUEUE_TOPIC } from '../../platform/queue/worker.ts'
import { FAILURES, isTerminal, type Outcome, unknownStart } from '../job.ts'
import { insertRecords } from '../moderation/records.ts'
import { VIDEO_TOPIC } from '../queues.ts'
import { keepUnsettledStarts, recordRenders } from '../render/store.ts'
import { findJobOfAnyOrg, type JobColumns, type VideoJobRow, writeJobs } from '../store.ts'
import { observeMove } from './observe-jobs.ts'

export type AdvanceContext = Pick<Context, 'db' | 'clock' | 'changes' | 'groups' | 'log' | 'metrics' | 'tracing'>

/** The job as it now is, and the outcome that was applied to it: not always the one decided. */
export type Applied = { job: VideoJobRow; outcome: Outcome }

/**
 * Applies what a step, or a cancellation, decided: status, money, event and moderation record are committed together, or not at all, in a
 * commit shared with what was decided for other jobs at that moment. The job returned is the one given with the outcome's changes:
 * whatever else a step wrote has to be part of its outcome.
 * Null when another worker, a cancellation or a deletion came first and nothing was written.
 */
export async function advance(ctx: AdvanceContext, job: VideoJobRow, outcome: Outcome): Promise<Applied | null> {
  if (outcome.to !== 'same') failpoint(`before_${outcome.to}`)
  const applied = await ctx.groups.join('video-outcomes', { job, outcome }, (decided) => writeOutcomes(ctx, decided))
  if (!applied) return null
  if (outcome.to !== 'same') failpoint(`after_${outcome.to}`)
  observeMove(ctx, job, applied)
  if (applied.job.status !== job.status || applied.job.progress !== job.progress) {
    ctx.changes.announce(VIDEO_TOPIC, job.id)
  }
  return applied
}

/** A job as its step read it, and what was decided for it. */
type Decided = { job: VideoJobRow; outcome: Outcome }

/** The columns to write to one row, under its fence. */
type Move = Decided & { set: JobColumns }

/**
 * Writes the outcomes of several jobs in one commit, each under its own fence: status, money, moderation records, renders, pins. Returns
 * one result for each; null where another writer came first. When the group cannot be written although the database is up, each is
 * written alone, so that a bad one is an Error for its own job only.
 */
async function writeOutcomes(ctx: AdvanceContext, decided: readonly Decided[]): Promise<Array<Applied | null | Error>> {
  const [first, later] = firstOfEachJob(decided)
  const written = await writeGroupOrEach(first, (some) => writeTogether(ctx, some))
  // An error from here on must not hide that the first are written.
  const rest = later.length > 0 ? await writeOutcomes(ctx, later).catch((error: Error) => later.map(() => error)) : []
  return decided.map((each) => {
    const i = first.indexOf(each)
    return i >= 0 ? written[i]! : rest[later.indexOf(each)]!
  })
}

/** A statement can write a row once: two outcomes of one job, of its worker and of a cancellation, are written one after the other. */
function firstOfEachJob(decided: readonly Decided[]): [first: Decided[], later: Decided[]] {
  const seen = new Set<string>()
  const first: Decided[] = []
  const later: Decided[] = []
  for (const each of decided) {
    ;(seen.has(each.job.id) ? later : first).push(each)
    seen.add(each.job.id)
  }
  return [first, later]
}

async function writeTogether(ctx: AdvanceContext, decided: readonly Decided[]): Promise<Array<Applied | null>> {
  const now = ctx.clock.now()
  if (!decided.some(needsTransaction)) {
    const moves = decided.map((each) => moveOf(each, now))
    const ids = await writeJobs(ctx.db, moves)
    hitFailpoints(moves.filter(({ job }) => ids.has(job.id)))
    return written(moves, ids)
  }
  const { applied, deliveries } = await ctx.db.transaction().execute(async (tx) => {
    const moves = (await withoutTakenRenders(ctx, tx, decided, now)).map((each) => moveOf(each, now))
    const ids = await writeJobs(tx, moves)
    failpoint('within_group_moved')
    const moved = moves.filter(({ job }) => ids.has(job.id))
    await writeBeside(tx, moved, now)
    const deliveries = await recordEvents(tx, eventsOf(moved), now)
    hitFailpoints(moved)
    return { applied: await refreshReplaced(tx, decided, written(moves, ids)), deliveries }
  })
  if (deliveries > 0) ctx.changes.announce(QUEUE_TOPIC, DELIVERY_QUEUE)
  return applied
}

/** The events of jobs that have ended. */
function eventsOf(moved: readonly Move[]): NewEvent[] {
  return moved.flatMap(({ job, outcome: { to } }) =>
    to === 'completed' || to === 'failed' || to === 'canceled'
      ? [{ org_id: job.org_id, type: `video.${to}` as const, subject_id: job.id }]
      : [],
  )
}

/** Re-reads the jobs whose outcome was replaced: their step had written to the row what only its own outcome repeats. */
async function refreshReplaced(
  tx: Tx,
  decided: readonly Decided[],
  applied: ReadonlyArray<Applied | null>,
): Promise<Array<Applied | null>> {
  const fresh: Array<Applied | null> = []
  for (const [i, each] of applied.entries()) {
    const isReplaced = each !== null && each.outcome !== decided[i]!.outcome
    fresh.push(isReplaced ? { ...each, job: (await findJobOfAnyOrg(tx, each.job.id))! } : each)
  }
  return fresh
}

/** Whether the outcome writes more than the row itself. */
function needsTransaction({ outcome }: Decided): boolean {
  if (outcome.to === 'failed' || outcome.to === 'canceled' || outcome.to === 'completed') return true
  if (outcome.render_key !== undefined) return true
  return outcome.to === 'same' ? outcome.unpin === true : outcome.record !== undefined
}

/** An outcome whose render belongs to another job is replaced: its start counts as one that was not answered. */
async function withoutTakenRenders(
  ctx: AdvanceContext,
  tx: Tx,
  decided: readonly Decided[],
  now: Date,
): Promise<readonly Decided[]> {
  const renders = decided.flatMap(({ job, outcome }) =>
    'render_key' in outcome && outcome.render_key !== undefined
      ? [{ render_key: outcome.render_key, job_id: job.id, created_at: now }]
      : [],
  )
  if (renders.length === 0) return decided
  const taken = await recordRenders(tx, renders)
  return decided.map(({ job, outcome }) => {
    if (!taken.has(job.id)) return { job, outcome }
    ctx.log.error('render_taken', { video_id: job.id, attempt_id: job.attempt_id ?? undefined })
    return { job, outcome: { to: 'same', retry_after_seconds: 1, set: unknownStart(job) } }
  })
}

/** The columns an outcome sets. Constraints of the table check that they match the status. */
function moveOf({ job, outcome }: Decided, now: Date): Move {
  // Without a wait the due time stays: an update that changes no indexed column writes to no index.
  if (outcome.to === 'same') {
    const { retry_after_seconds } = outcome
    const wait = retry_after_seconds > 0 ? { next_run_at: addSeconds(now, retry_after_seconds) } : {}
    return { job, outcome, set: { ...outcome.set, ...wait } }
  }
  const status = outcome.to
  const common = { status, tries: 0 }
  const ended = isTerminal(status) ? { finished_at: now, claim_id: null, claimed_until: null } : {}
  switch (status) {
    case 'failed':
      return {
        ...{ job, outcome },
        set: {
          ...common,
          ...ended,
          error_code: outcome.code,
          error_message: outcome.message ?? FAILURES[outcome.code],
        },
      }
    case 'canceled':
      return { job, outcome, set: { ...common, ...ended, cancel_due_at: job.ticket === null ? null : now } }
    case 'completed':
      return { job, outcome, set: { ...common, ...ended, ...outcome.set, completed_at: now, progress: 100 } }
    case 'queued':
      return { job, outcome, set: { ...common, ...outcome.set, queued_at: now } }
    case 'in_progress':
      return { job, outcome, set: { ...common, ...outcome.set, render_started_at: now } }
    case 'translating':
      return { job, outcome, set: { ...common, ...outcome.set, moderated_at: now } }
  }
}

/**
 * Writes what goes with the rows: moderation records; the charge of a job that completed, the release of any other hold; unpinned files.
 * A start that was never settled is kept, so that its render is not mistaken for another job's.
 */
async function writeBeside(tx: Tx, moved: readonly Move[], now: Date): Promise<void> {
  const records = moved.flatMap(({ job, outcome }) => {
    const note = 'record' in outcome ? outcome.record : undefined
    return note ? [{ job_id: job.id, org_id: job.org_id, user_id: job.user_id, ...note }] : []
  })
  await insertRecords(tx, records, now)
  const ended = moved.filter(({ outcome }) => outcome.to !== 'same' && isTerminal(outcome.to))
  const captured = ended.flatMap(({ job, outcome }) => (outcome.to === 'completed' ? [job] : []))
  const released = ended.flatMap(({ job, outcome }) => (outcome.to === 'completed' ? [] : [job.id]))
  await settleHolds(tx, { captured, released, now })
  failpoint('within_group_settled')
  for (const { job, outcome } of moved) {
    if (outcome.to !== 'canceled' || outcome.by === undefined) continue
    const details = { user_id: job.user_id }
    await recordActivity(tx, {
      actor: outcome.by,
      action: 'video.cancel',
      org_id: job.org_id,
      target: job.id,
      details,
      now,
    })
  }
  await keepUnsettledStarts(tx, { job_ids: released, now })
  const unpinned = moved.filter((each) => ended.includes(each) || ('unpin' in each.outcome && each.outcome.unpin))
  const holders = unpinned.flatMap(({ job }) => (job.inputs.length > 0 ? [job.id] : []))
  await releasePins(tx, { holders, now })
}

function hitFailpoints(moved: readonly Move[]): void {
  for (const { outcome } of moved) if (outcome.to !== 'same') failpoint(`within_${outcome.to}`)
}

function written(moves: readonly Move[], ids: ReadonlySet<string>): Array<Applied | null> {
  return moves.map(({ job, outcome, set }) =>
    ids.has(job.id) ? { job: { ...job, ...(set as Partial<VideoJobRow>) }, outcome } : null,
  )
}
