import { hash, randomBytes } from 'node:crypto'
import type { Context } from '../../context.ts'
import { actorOf, recordActivity } from '../../identity/activity/activity.ts'
import type { Principal } from '../../identity/caller/principal.ts'
import { addSeconds } from '../../platform/clock.ts'
import { ApiError, notFound } from '../../platform/errors.ts'
import { isId, newId } from '../../platform/ids.ts'
import { describeJob } from '../job.ts'
import { JOB_RETENTION_SECONDS } from '../retention.ts'
import { findJob, type VideoJobRow } from '../store.ts'
import {
  deleteShareLink,
  findSharedClip,
  findShareLink,
  insertShareLink,
  listLiveLinks,
  lockJob,
  type SharedClip,
  type ShareLinkRow,
} from './store.ts'

/** Of one clip at a time: enough for one a person, and few enough to look through. */
const LIVE_LINKS_MAX = 20
const DAY_SECONDS = 86_400
/** 256 bits, which nobody guesses. */
const TOKEN_BYTES = 32
const TOKEN = /^[\w-]{43}$/

/**
 * Makes a link to a completed clip and returns it with its token, which is stored nowhere. Throws ApiError `permission_denied` when sharing is
 * off, and as `requireMayShare` does; `integer_above_max_value`, `not_found`, or `conflict` for a job that is not completed or has as many
 * links as it may.
 */
export async function createShareLink(
  ctx: Pick<Context, 'db' | 'clock' | 'config'>,
  principal: Principal,
  { video_id, days, download }: { video_id: string; days: number; download: boolean },
): Promise<{ link: ShareLinkRow; token: string }> {
  const { org_id } = principal
  return ctx.db.transaction().execute(async (tx) => {
    const job = isId('video', video_id) ? await lockJob(tx, org_id, video_id) : null
    const shared = requireMayShare(principal, job)
    requireDays(ctx.config, days)
    if (shared.status !== 'completed' || shared.finished_at === null)
      throw new ApiError('conflict', `This job is ${shared.status}; it can be shared once it is completed.`)
    const now = ctx.clock.now()
    const deleted_at = addSeconds(shared.finished_at, JOB_RETENTION_SECONDS)
    // Its time is over, and the sweep is about to come.
    if (deleted_at <= now) throw notFound('video')
    if ((await listLiveLinks(tx, { org_id, video_id, now })).length >= LIVE_LINKS_MAX)
      throw new ApiError('conflict', `This video has ${LIVE_LINKS_MAX} share links. Revoke one of them first.`)
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    const asked = addSeconds(now, days * DAY_SECONDS)
    const expires_at = asked < deleted_at ? asked : deleted_at
    const id = newId('share_link', now)
    const facts = { id, org_id, video_id, hint: token.slice(-4), download, created_at: now, expires_at }
    const link = { ...facts, token_sha256: digest(token) }
    await insertShareLink(tx, link)
    await record(tx, 'share_link.create', { ctx, principal, job: shared, link })
    return { link, token }
  })
}

/** The links of a job that have not ended, the newest first. Throws ApiError `not_found`, and as `requireMayShare` does. */
export async function readShareLinks(
  ctx: Pick<Context, 'db' | 'clock'>,
  principal: Principal,
  video_id: string,
): Promise<ShareLinkRow[]> {
  const { org_id } = principal
  requireMayShare(principal, isId('video', video_id) ? await findJob(ctx.db, org_id, video_id) : null)
  return listLiveLinks(ctx.db, { org_id, video_id, now: ctx.clock.now() })
}

/** Ends a link at once. Throws ApiError `not_found`, and as `requireMayShare` does. */
export async function revokeShareLink(
  ctx: Pick<Context, 'db' | 'clock' | 'config'>,
  principal: Principal,
  id: string,
): Promise<void> {
  const { org_id } = principal
  await ctx.db.transaction().execute(async (tx) => {
    const link = isId('share_link', id) ? await findShareLink(tx, org_id, id) : null
    if (!link) throw notFound('share link')
    const job = requireMayShare(principal, await findJob(tx, org_id, link.video_id))
    if (!(await deleteShareLink(tx, org_id, id))) throw notFound('share link')
    await record(tx, 'share_link.revoke', { ctx, principal, job, link })
  })
}

/** What a token shows now; null where there is nothing to see, for whatever reason. */
export async function readSharedClip(
  { db, clock, config }: Pick<Context, 'db' | 'clock' | 'config'>,
  token: string,
): Promise<SharedClip | null> {
  if (config.sharing === null || !TOKEN.test(token)) return null
  return findSharedClip(db, { token_sha256: digest(token), now: clock.now() })
}

/**
 * Members share what they have made; owners and admins share everything, and end the links of everybody.
 * Throws ApiError `not_found` without a job, and `permission_denied`.
 */
function requireMayShare(principal: Principal, job: VideoJobRow | null): VideoJobRow {
  if (!job) throw notFound('video')
  if (principal.role !== 'member' || principal.user_id === job.user_id) return job
  throw new ApiError(
    'permission_denied',
    'Members share only videos that they have made. Ask the person who made it, or an owner or admin.',
  )
}

function requireDays({ sharing }: Context['config'], days: number): void {
  if (sharing === null)
    throw new ApiError('permission_denied', 'This service shares no videos. Its operator can allow it: `sharing`.')
  if (days <= sharing.days_max) return
  const text = `Invalid 'expires_in_days': integer above maximum value. Expected a value <= ${sharing.days_max}, but got ${days} instead.`
  throw new ApiError('integer_above_max_value', text, { param: 'expires_in_days' })
}

function record(
  tx: Parameters<typeof recordActivity>[0],
  action: 'share_link.create' | 'share_link.revoke',
  {
    ctx,
    principal,
    job,
    link,
  }: {
    ctx: Pick<Context, 'clock' | 'config'>
    principal: Principal
    job: VideoJobRow
    link: Pick<ShareLinkRow, 'id' | 'hint'>
  },
): Promise<void> {
  const details = { name: describeJob(ctx.config.video_models, job), link: `…${link.hint}` }
  const by = { actor: actorOf(principal), org_id: principal.org_id }
  return recordActivity(tx, { ...by, action, target: link.id, details, now: ctx.clock.now() })
}

function digest(token: string): string {
  return hash('sha256', token, 'hex')
}
