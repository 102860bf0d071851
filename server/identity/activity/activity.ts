import { hostname, userInfo } from 'node:os'
import { addSeconds, type Clock } from '../../platform/clock.ts'
import type { Db, Tx } from '../../platform/db/db.ts'
import { newId } from '../../platform/ids.ts'
import type { Sweep } from '../../platform/sweep.ts'
import type { Principal } from '../caller/principal.ts'
import { deleteActivityBefore, insertActivity } from './store.ts'

/** Everything that is recorded, by what it concerns. Source: docs/operating.md, who did what. */
export const ACTIONS = [
  'organization.create',
  'organization.plan',
  'credits.grant',
  'member.add',
  'member.role',
  'member.remove',
  'invitation.create',
  'invitation.withdraw',
  'invitation.accept',
  'person.password_reset',
  'person.two_factor_reset',
  'api_key.create',
  'api_key.revoke',
  'video.cancel',
  'audit.run',
  'configuration.reload',
  'configuration.change',
  'database.move',
  'database.adopt',
] as const
export type Action = (typeof ACTIONS)[number]

/** Whoever runs commands on a host. */
export type Operator = { kind: 'operator'; os_user: string; host: string }

/** Who did something. `key_id` null: in the console. */
export type Actor = Operator | { kind: 'person'; user_id: string; key_id: string | null }

/**
 * What was done. `org_id` null: to the whole service. `target`: the id of what it was done to. `details` hold names, roles, plans and amounts,
 * never secrets, passwords, keys or prompts.
 */
export type Deed = {
  actor: Actor
  action: Action
  org_id: string | null
  target: string | null
  details?: Record<string, string | number | readonly string[]>
  now: Date
}

/** Records what was done, in the transaction that does it. */
export async function recordActivity(tx: Tx, { now, details = {}, ...deed }: Deed): Promise<void> {
  await insertActivity(tx, { id: newId('activity', now), created_at: now, details, ...deed })
}

export function actorOf({ user_id, key_id }: Pick<Principal, 'user_id' | 'key_id'>): Actor {
  return { kind: 'person', user_id, key_id }
}

/** The user of the operating system that this process runs as, on this host. */
export function operatorHere(): Operator {
  return { kind: 'operator', os_user: osUser(), host: hostname() }
}

/** A process in a container may have a number and no name. */
function osUser(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
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
