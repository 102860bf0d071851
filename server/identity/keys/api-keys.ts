import type { Kysely } from 'kysely'
import type { Database, Db } from '../../platform/db/db.ts'
import { ApiError, notFound } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Actor } from '../activity/action.ts'
import { actorOf, recordActivity } from '../activity/activity.ts'
import type { Principal } from '../caller/principal.ts'
import { lockSession } from '../login/store.ts'
import { lockedRole } from '../members/members.ts'
import { lockOrganization } from '../people/store.ts'
import { apiKeyHint, hashKey, mintKey } from './format.ts'
import { type ApiKeyRow, countKeys, insertKey, revokeKey } from './store.ts'

/** Keys of one person in one organization. */
const KEYS_MAX = 50

/** What is known of a key after it was made. */
export type KeyFacts = Omit<ApiKeyRow, 'key_hash'>

type NewKey = { org_id: string; user_id: string; name: string; prefix: string; now: Date }

/** Makes a key of one person in one organization, who must be a member. `key` is returned here and never again. */
export async function createKey(db: Db, owner: NewKey): Promise<KeyFacts & { key: string }> {
  const { org_id, user_id, name, prefix, now } = owner
  const key = mintKey(prefix)
  const row = { id: newId('key', now), org_id, user_id, name, hint: apiKeyHint(key), created_at: now }
  await insertKey(db, { ...row, key_hash: Buffer.from(hashKey(key), 'hex') })
  return { ...row, last_used_at: null, revoked_at: null, key }
}

/**
 * As `createKey`, and records who made it. `session_id`: the console login that makes it, which must not end meanwhile, since what ends a
 * login may end the keys too. Throws ApiError `conflict` for a person who has as many keys as one may have, and `missing_api_key`.
 */
export async function createKeyBy(
  db: Kysely<Database>,
  { actor, session_id }: { actor: Actor; session_id?: string },
  owner: NewKey,
): Promise<KeyFacts & { key: string }> {
  return db.transaction().execute(async (tx) => {
    await lockOrganization(tx, owner.org_id)
    if (session_id !== undefined) await lockSession(tx, session_id)
    if ((await countKeys(tx, owner)) >= KEYS_MAX)
      throw new ApiError('conflict', `A person can have ${KEYS_MAX} API keys in an organization. Revoke one first.`)
    const made = await createKey(tx, owner)
    const { id: target, org_id, user_id, name, hint } = made
    const details = { name, hint, user_id }
    await recordActivity(tx, { actor, action: 'api_key.create', org_id, target, details, now: owner.now })
    return made
  })
}

/** Whose keys a person sees and may revoke: owners and admins everybody's in the organization (null), members their own. */
export function keyHolder(principal: Principal): string | null {
  return principal.role === 'member' ? principal.user_id : null
}

/**
 * Revokes a key for good. Throws ApiError `not_found` for one that is missing, revoked, foreign or not theirs to revoke, and
 * `permission_denied` for somebody who is no longer a member.
 */
export async function revokeOwnKey(
  db: Kysely<Database>,
  principal: Principal,
  { id, now }: { id: string; now: Date },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const user_id = keyHolder(await lockedRole(tx, principal))
    if (!(await revokeKey(tx, { org_id: principal.org_id, user_id, id, now }))) throw notFound('API key')
    await recordActivity(tx, {
      actor: actorOf(principal),
      action: 'api_key.revoke',
      now,
      org_id: principal.org_id,
      target: id,
    })
  })
}
