import type { Tx } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import { actorOf, recordActivity } from '../activity/activity.ts'
import type { Principal } from '../caller/principal.ts'
import { findMembersDelete, findUser } from '../people/store.ts'

/**
 * Call it in the transaction that deletes what `user_id` has made.
 * Throws ApiError `permission_denied` where members delete only their own and the caller is a member who did not make it.
 */
export async function requireMayDelete(tx: Tx, principal: Principal, user_id: string): Promise<void> {
  if (principal.role !== 'member' || principal.user_id === user_id) return
  if ((await findMembersDelete(tx, principal.org_id)) === 'all') return
  throw new ApiError(
    'permission_denied',
    'In this organization members delete only what they have made. Ask the person who made it, or an owner or admin.',
  )
}

/** Records a deletion in the transaction that makes it. `name`: what people know it by; never a prompt. `user_id`: who had made it. */
export async function recordDeletion(
  tx: Tx,
  principal: Principal,
  deleted: { action: 'video.delete' | 'file.delete'; id: string; name: string; user_id: string; now: Date },
): Promise<void> {
  const { action, id, name, user_id, now } = deleted
  const maker = user_id === principal.user_id ? null : await findUser(tx, user_id)
  const details = { name, ...(maker && { made_by: maker.email }) }
  await recordActivity(tx, { actor: actorOf(principal), action, org_id: principal.org_id, target: id, details, now })
}
