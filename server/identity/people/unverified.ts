import type { Tx } from '../../platform/db/db.ts'
import type { Actor } from '../activity/action.ts'
import { recordActivity } from '../activity/activity.ts'
import { cancelInvitationsBy } from '../invitations/store.ts'
import { revokeKeysOf } from '../keys/store.ts'

type OfOrganization = { id: string; org_id: string }

/** API keys and open invitations that ended since the address of their maker was verified: until then another person may have made them. */
export type EndedUnverified = { keys: OfOrganization[]; invitations: OfOrganization[] }

/** Ends them in every organization. The person's sessions have ended in the same transaction, before: none of them makes more. */
export async function endUnverified(
  tx: Tx,
  { user_id, now }: { user_id: string; now: Date },
): Promise<EndedUnverified> {
  const keys = await revokeKeysOf(tx, { user_id, now })
  const invitations = await cancelInvitationsBy(tx, { inviter_id: user_id })
  return { keys, invitations }
}

export async function recordEnded(
  tx: Tx,
  { keys, invitations }: EndedUnverified,
  { actor, now }: { actor: Actor; now: Date },
): Promise<void> {
  const details = { because: 'address_verified' }
  for (const { id: target, org_id } of keys)
    await recordActivity(tx, { actor, action: 'api_key.revoke', org_id, target, details, now })
  for (const { id: target, org_id } of invitations)
    await recordActivity(tx, { actor, action: 'invitation.withdraw', org_id, target, details, now })
}
