import { settleHolds } from '../../billing/holds.ts'
import type { Context } from '../../context.ts'
import { releasePins } from '../../files/store/pins.ts'
import { recordActivity } from '../../identity/activity/activity.ts'
import { addSeconds } from '../../platform/clock.ts'
import { type Db, isUniqueViolation, type Tx } from '../../platform/db/db.ts'
import { writeGroupOrEach } from '../../platform/db/groups.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { QUEUE_TOPIC } from '../../platform/queue/consumer.ts'
import { DELIVERY_QUEUE } from '../../webhooks/event.ts'
import { type NewEvent, recordEvents } from '../../webhooks/store/events.ts'
import { FAILURES, isTerminal, type Outcome } from '../job.ts'
import { insertRecords, refusedCategories } from '../moderation/records.ts'
import { VIDEO_TOPIC } from '../queues.ts'
import type { RenderAttempt } from '../render/attempt.ts'
import { recordMove } from './job-telemetry.ts'
import { endAttempts, type Job, type JobColumns, writeJobs } from './store.ts'

export type AdvanceContext = Pick<Context, 'db' | 'clock' | 'changes' | 'groups' | 'log' | 'metrics' | 'tracing'>

/** The job as it now is, and the outcome that was applied to it: not always the one decided. */
export type AppliedOutcome = { job: Job; outcome: Outcome }

/**
 * Applies what a step, or a cancellation, decided: status, start, money, event and moderation record are committed together, or not at all,
 * in a commit shared with what was decided for other jobs at that moment. The job returned is the one given with the outcome's changes:
 * whatever else a step wrote has to be part of its outcome.
 * Null when another consumer, a cancellation or a deletion came first and nothing was written.
 */
export async function advance(ctx: AdvanceContext, job: Job, outcome: Outcome): Promise<AppliedOutcome | null> {
  if (outcome.to !== 'same') failpoint(`before_${outcome.to}`)
  const applied = await ctx.groups.join('video-outcomes', { job, outcome }, (decided) => writeOutcomes(ctx, decided))
  if (!applied) return null
  if (outcome.to !== 'same') failpoint(`after_${outcome.to}`)
  recordMove(ctx, job, applied)
  if (applied.job.status !== job.status || applied.job.progress !== job.progress) {
    ctx.changes.announce(VIDEO_TOPIC, job.id)
  }
  return applied
}

/** A job as its step read it, and what was decided for it. */
type Decided = { job: Job; outcome: Outcome }

/** The columns to write to one row, under its fence. */
type Move = Decided & { set: JobColumns }

/**
 * Writes the outcomes of several jobs in one commit, each under its own fence: status, starts, money, moderation records, pins. Returns
 * one result for each; null where another writer came first. When the group cannot be written although the database is up, each is
 * written alone, so that a bad one is an Error for its own job only.
 */
async function writeOutcomes(
  ctx: AdvanceContext,
  decided: readonly Decided[],
): Promise<Array<AppliedOutcome | null | Error>> {
  const [first, later] = firstOfEachJob(decided)
  const written = await writeGroupOrEach(first, (some) => writeOrReplace(ctx, some))
  // An error from here on must not hide that the first are written.
  const rest = later.length > 0 ? await writeOutcomes(ctx, later).catch((error: Error) => later.map(() => error)) : []
  return decided.map((each) => {
    const i = first.indexOf(each)
    return i >= 0 ? written[i]! : rest[later.indexOf(each)]!
  })
}

/** An outcome whose render belongs to another job is replaced, when it is written alone: its start counts as one that was not answered. */
async function writeOrReplace(ctx: AdvanceContext, decided: readonly Decided[]): Promise<Array<AppliedOutcome | null>> {
  try {
    return await writeTogether(ctx, decided)
  } catch (error) {
    const [{ job, outcome }] = decided as [Decided]
    const move = 'attempt' in outcome ? outcome.attempt : undefined
    if (decided.length > 1 || !move || !isUniqueViolation(error, 'video_attempts_render')) throw error
    ctx.log.error('render_taken', { video_id: job.id, attempt_id: move.attempt.id })
    const attempt = { attempt: move.attempt, set: { state: 'unknown' as const } }
    return writeTogether(ctx, [{ job, outcome: { to: 'same', retry_after_seconds: 1, attempt } }])
  }
}

/** A statement can write a row once: two outcomes of one job, of its consumer and of a cancellation, are written one after the other. */
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

async function writeTogether(ctx: AdvanceContext, decided: readonly Decided[]): Promise<Array<AppliedOutcome | null>> {
  const now = ctx.clock.now()
  const moves = decided.map((each) => moveOf(each, now))
  if (!decided.some(needsTransaction)) {
    const ids = await writeMoves(ctx.db, moves)
    hitFailpoints(moves.filter(({ job }) => ids.has(job.id)))
    return written(moves, ids)
  }
  const { applied, deliveries } = await ctx.db.transaction().execute(async (tx) => {
    const ids = await writeMoves(tx, moves)
    failpoint('within_group_moved')
    const moved = moves.filter(({ job }) => ids.has(job.id))
    await writeBeside(tx, moved, now)
    const deliveries = await recordEvents(tx, eventsOf(moved), now)
    hitFailpoints(moved)
    return { applied: written(moves, ids), deliveries }
  })
  if (deliveries > 0) ctx.changes.announce(QUEUE_TOPIC, DELIVERY_QUEUE)
  return applied
}

function writeMoves(db: Db, moves: readonly Move[]): Promise<Set<string>> {
  return writeJobs(
    db,
    moves.map(({ job, outcome, set }) => ({ job, set, ...startOf(outcome) })),
  )
}

/** What an outcome writes to the starts of its job. */
function startOf(outcome: Outcome) {
  return {
    attempt: 'attempt' in outcome ? outcome.attempt : undefined,
    begin: 'begin' in outcome ? outcome.begin : undefined,
  }
}

/** The events of jobs that have ended. */
function eventsOf(moved: readonly Move[]): NewEvent[] {
  return moved.flatMap(({ job, outcome: { to } }) =>
    to === 'completed' || to === 'failed' || to === 'canceled'
      ? [{ org_id: job.org_id, type: `video.${to}` as const, subject_id: job.id }]
      : [],
  )
}

/** Whether the outcome writes more than the job and its start. */
function needsTransaction({ outcome }: Decided): boolean {
  if (outcome.to === 'failed' || outcome.to === 'canceled' || outcome.to === 'completed') return true
  return outcome.to === 'same' ? outcome.unpin === true : outcome.record !== undefined
}

/** The columns an outcome sets. Constraints of the table check that they match the status. */
function moveOf({ job, outcome }: Decided, now: Date): Move {
  // Without a wait the due time stays: an update that changes no indexed column writes to no index.
  if (outcome.to === 'same') {
    const { retry_after_seconds, begin } = outcome
    const wait = retry_after_seconds > 0 ? { next_run_at: addSeconds(now, retry_after_seconds) } : {}
    const pointer = begin ? { attempt_id: begin.attempt.id } : {}
    return { job, outcome, set: { ...outcome.set, ...pointer, ...wait } }
  }
  const status = outcome.to
  const common = { status, tries: 0 }
  const ended = isTerminal(status) ? { finished_at: now, claim_id: null, claimed_until: null } : {}
  switch (status) {
    case 'failed':
      return {
        job,
        outcome,
        set: {
          ...common,
          ...ended,
          error_code: outcome.code,
          error_message: outcome.message ?? FAILURES[outcome.code],
          error_categories: outcome.record ? refusedCategories(outcome.record) : null,
        },
      }
    case 'canceled':
      return { job, outcome, set: { ...common, ...ended, cancel_due_at: isStoppable(job.attempt) ? now : null } }
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

/** Whether an engine may be rendering for this start. */
function isStoppable(attempt: RenderAttempt | null): boolean {
  return attempt !== null && attempt.ended_at === null && attempt.ticket !== null
}

/**
 * Writes what goes with the rows: moderation records; the charge of a job that completed, the release of any other hold; the end of its
 * start; unpinned files.
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
  await endAttempts(tx, ended.filter(({ job, outcome }) => mayHaveStarted(job, outcome)).map(endOfAttempt), now)
  const unpinned = moved.filter((each) => ended.includes(each) || ('unpin' in each.outcome && each.outcome.unpin))
  const holders = unpinned.flatMap(({ job }) => (job.inputs.length > 0 ? [job.id] : []))
  await releasePins(tx, { holders, now })
}

/** A job that ends while it is moderated, say, has made no start, and none is looked for. */
function mayHaveStarted({ status }: Job, { to }: Outcome): boolean {
  return status === 'in_progress' || status === 'queued' || to === 'completed'
}

function endOfAttempt({ job, outcome }: Move) {
  const job_id = job.id
  switch (outcome.to) {
    case 'completed':
    case 'canceled':
      return { job_id, state: outcome.to, because: null }
    default:
      return { job_id, state: 'abandoned' as const, because: outcome.to === 'failed' ? outcome.code : null }
  }
}

function hitFailpoints(moved: readonly Move[]): void {
  for (const { outcome } of moved) if (outcome.to !== 'same') failpoint(`within_${outcome.to}`)
}

function written(moves: readonly Move[], ids: ReadonlySet<string>): Array<AppliedOutcome | null> {
  return moves.map(({ job, outcome, set }) => {
    if (!ids.has(job.id)) return null
    const { attempt: changed, begin } = startOf(outcome)
    const attempt = begin?.attempt ?? (changed ? { ...changed.attempt, ...changed.set } : job.attempt)
    const attempt_id = attempt?.id ?? job.attempt_id
    return { job: { ...job, ...(set as Partial<Job>), attempt_id, attempt, version: undefined }, outcome }
  })
}
