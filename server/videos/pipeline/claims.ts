import { type RawBuilder, sql } from 'kysely'
import type { Config } from '../../config/config.ts'
import type { Context } from '../../context.ts'
import { addSeconds } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/db.ts'
import { type Claims, claimsOn, type QueueTable } from '../../platform/queue/claims.ts'
import type { MeasuredQueue } from '../../platform/queue/depth.ts'
import { isTerminal, STATUSES } from '../job.ts'
import { CANCEL_QUEUE, VIDEO_QUEUE } from '../queues.ts'
import { engineAddress } from '../render/served-model.ts'
import type { VideoJobRow } from '../store.ts'
import { type Job, withAttempts } from './store.ts'

const OPEN: QueueTable = { table: 'video_jobs', due: 'next_run_at', open: sql`finished_at is null` }
const CANCELED: QueueTable = { table: 'video_jobs', due: 'cancel_due_at', open: sql`cancel_due_at is not null` }

/** Jobs that have not ended, due by their next step. */
export const videoClaims: Claims<Job> = claimsOfJobs(OPEN)

/** Canceled jobs whose engine is still to be asked to stop the render. */
export const cancelClaims: Claims<Job> = claimsOfJobs(CANCELED)

function claimsOfJobs(queue: QueueTable): Claims<Job> {
  const claims = claimsOn<VideoJobRow>(queue)
  return { ...claims, claim: async (db, wanted) => withAttempts(db, await claims.claim(db, wanted)) }
}

/** How long a job may be `queued` or `in_progress` before it fails. */
export function stageLimitSeconds(
  { limits, video_models }: Config,
  { status, model }: { status: string; model: string },
): number {
  const { render_seconds } = video_models.find(({ id }) => id === model) ?? limits
  return status === 'queued' ? limits.queue_seconds : render_seconds
}

/** For metrics. */
export function measuredVideoQueues(live: Pick<Context, 'config'>): readonly MeasuredQueue[] {
  const states = STATUSES.filter((status) => !isTerminal(status))
  const since = sql`case status when 'queued' then queued_at when 'in_progress' then render_started_at end`
  const limitSeconds = (status: string, model: string) => stageLimitSeconds(live.config, { status, model })
  const shared = { state: sql`status`, created: sql`created_at` }
  return [
    { ...OPEN, queue: VIDEO_QUEUE, ...shared, states, timed: { since, limitSeconds } },
    { ...CANCELED, queue: CANCEL_QUEUE, ...shared, states: ['canceled'] },
  ]
}

export const videoQueues = [
  { queue: VIDEO_QUEUE, claims: videoClaims },
  { queue: CANCEL_QUEUE, claims: cancelClaims },
] as const

/** A job that was due and that no process has taken for this long may be ended by one that does not know its model. */
const UNCLAIMED_SECONDS = 600

/** A render at an address that no process has claimed for this long is looked for at the engine of the same name: it has moved. */
const MOVED_SECONDS = 30

/**
 * Which jobs this process can work on: while configurations differ, during a rolling change, those of models, engines and addresses it does
 * not know are left to the others. It may take one that nobody has taken and whose time is up, to end it.
 */
export function servedJobs(ctx: Pick<Context, 'config' | 'engines'>, now: Date): RawBuilder<unknown> {
  const { queue_seconds, render_seconds } = ctx.config.limits
  return sql`(status in ('moderating', 'translating') or ${isServed(ctx)}
    or (next_run_at < ${addSeconds(now, -MOVED_SECONDS)} and ${isNamed(ctx)})
    or (next_run_at < ${addSeconds(now, -UNCLAIMED_SECONDS)}
        and case when render_started_at is null then queued_at < ${addSeconds(now, -queue_seconds)}
                 else render_started_at < ${addSeconds(now, -render_seconds)} end))`
}

/** Which cancellations this process can pass on to the engine, or give up because the engine is no longer asked. */
export function servedCancels(
  ctx: Pick<Context, 'config' | 'engines'>,
  { now, given_up_before }: { now: Date; given_up_before: Date },
): RawBuilder<unknown> {
  return sql`(${isServed(ctx)} or (cancel_due_at < ${addSeconds(now, -MOVED_SECONDS)} and ${isNamed(ctx)})
    or finished_at < ${given_up_before})`
}

/** Jobs of known models that have not begun, and those that were begun on an engine at an address this process knows. */
function isServed(ctx: Pick<Context, 'config' | 'engines'>): RawBuilder<unknown> {
  const served = poolsOf(ctx).flatMap(({ id, pool }) => [
    `${id}\n\n`,
    // A render whose engine has no name is at the first one.
    ...pool.members.slice(0, 1).map((member) => `${id}\n\n${engineAddress(member)}`),
    ...pool.members.map((member) => `${id}\n${member.id ?? ''}\n${engineAddress(member)}`),
  ])
  return sql`${keyOf([sql`a.engine`, sql`a.engine_address`])} = any(${[...new Set(served)]}::text[])`
}

/** Jobs whose engine this process knows by name, wherever it was when they were begun. */
function isNamed(ctx: Pick<Context, 'config' | 'engines'>): RawBuilder<unknown> {
  const named = poolsOf(ctx).flatMap(({ id, pool }) => [
    `${id}\n`,
    ...pool.members.map((member) => `${id}\n${member.id ?? ''}`),
  ])
  return sql`${keyOf([sql`a.engine`])} = any(${[...new Set(named)]}::text[])`
}

/** The model of a job, and what is given of the engine that its last start is bound to, a line each. As `isBound`. */
function keyOf(given: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  const columns = given.map((column) => sql` || chr(10) || coalesce(max(${column}), '')`)
  return sql`model || (select '' ${sql.join(columns, sql``)} from video_attempts a
    where a.id = video_jobs.attempt_id and (a.state <> 'not_begun' or a.number > 1))`
}

function poolsOf({ config, engines }: Pick<Context, 'config' | 'engines'>) {
  const former = (engines.former ?? []).map(({ settings, pool }) => ({ id: settings.id, pool }))
  const current = config.video_models.flatMap(({ id }) => {
    const pool = engines.video.get(id)
    return pool ? [{ id, pool }] : []
  })
  return [...current, ...former]
}

/** Ends a claim on a canceled job: its engine is asked again at `again`, or never when null. */
export async function askedToStop(
  db: Db,
  { id, claim_id }: { id: string; claim_id: string | null },
  again: Date | null,
): Promise<void> {
  await db
    .updateTable('video_jobs')
    .set({ cancel_due_at: again, claim_id: null, claimed_until: null })
    .where('id', '=', id)
    .where('claim_id', '=', claim_id)
    .where('status', '=', 'canceled')
    .execute()
}
