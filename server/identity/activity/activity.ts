import { addSeconds, type Clock } from '../../platform/clock.ts'
import type { Db, Tx } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Sweep } from '../../platform/sweep.ts'
import type { Principal } from '../caller/principal.ts'
import type { Action, Actor } from './action.ts'
import { countActivity, deleteActivityBefore, insertActivity } from './store.ts'

/**
 * What was done. `org_id` null: to the whole service. `target`: the id of what it was done to. `details` hold names, roles, plans and amounts,
 * never secrets, passwords, keys or prompts.
 */
export type NewActivity = {
  actor: Actor
  action: Action
  org_id: string | null
  target: string | null
  details?: Record<string, string | number | readonly string[]>
  now: Date
}

/** Changes that people can make again and again. Others each need one of these, a job or an upload before them, and are never rejected. */
const REPEATABLE: readonly Action[] = [
  'api_key.create',
  'invitation.create',
  'member.role',
  'organization.members_delete',
  'share_link.create',
  'webhook_endpoint.create',
  'webhook_endpoint.change',
  'webhook_endpoint.rotate_secret',
]
/** Of these in an organization. Each leaves rows for good, or for more than a year. */
const CHANGES_A_DAY_MAX = 1000
const DAY_SECONDS = 86_400

/**
 * Records what was done, in the transaction that does it. Throws ApiError `too_many_requests` when the people of an organization have made
 * as many changes in the last 24 hours as they may.
 */
export async function recordActivity(tx: Tx, { now, details = {}, ...entry }: NewActivity): Promise<void> {
  const { actor, org_id, action } = entry
  if (actor.kind === 'person' && org_id !== null && REPEATABLE.includes(action)) {
    const since = addSeconds(now, -DAY_SECONDS)
    const counted = { org_id, since, actions: REPEATABLE, limit: CHANGES_A_DAY_MAX }
    if ((await countActivity(tx, counted)) >= CHANGES_A_DAY_MAX) throw tooManyChanges()
  }
  await insertActivity(tx, { id: newId('activity', now), created_at: now, details, ...entry })
}

export function actorOf({ user_id, key_id }: Pick<Principal, 'user_id' | 'key_id'>): Actor {
  return { kind: 'person', user_id, key_id }
}

function tooManyChanges(): ApiError {
  const text = `Your organization has made ${CHANGES_A_DAY_MAX} changes of its settings, API keys, members, share links and webhook endpoints in 24 hours. Try again later; what is there can still be revoked or deleted.`
  return new ApiError('too_many_requests', text)
}

const BATCH = 1000

/** Deletes entries that are older than the configuration keeps them. */
export function activitySweep(ctx: { db: Db; clock: Clock; config: { activity_retention_days: number } }): Sweep {
  return {
    name: 'identity.activity',
    every_seconds: 3600,
    async run() {
      const before = addSeconds(ctx.clock.now(), -ctx.config.activity_retention_days * 86_400)
      while ((await deleteActivityBefore(ctx.db, before, BATCH)) === BATCH);
    },
  }
}
