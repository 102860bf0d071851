import { addSeconds, type Clock } from '../../platform/clock.ts'
import type { Db, Tx } from '../../platform/db/db.ts'
import { newId } from '../../platform/ids.ts'
import type { Sweep } from '../../platform/sweep.ts'
import type { Principal } from '../caller/principal.ts'
import type { Action, Actor } from './action.ts'
import { deleteActivityBefore, insertActivity } from './store.ts'

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

/** Records what was done, in the transaction that does it. */
export async function recordActivity(tx: Tx, { now, details = {}, ...entry }: NewActivity): Promise<void> {
  await insertActivity(tx, { id: newId('activity', now), created_at: now, details, ...entry })
}

export function actorOf({ user_id, key_id }: Pick<Principal, 'user_id' | 'key_id'>): Actor {
  return { kind: 'person', user_id, key_id }
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
