import type { Kysely } from 'kysely'
import type { Database, Tx } from '../../platform/db/db.ts'
import { isUniqueViolation } from '../../platform/db/db.ts'
import { ApiError, notFound } from '../../platform/errors.ts'
import { actorOf, type NewActivity, recordActivity } from '../activity/activity.ts'
import type { Principal, Role } from '../caller/principal.ts'
import { cancelInvitationsBy } from '../invitations/store.ts'
import { lockOrganization } from '../people/store.ts'
import { newRowId } from '../row-ids.ts'
import { countOwners, deleteMember, findMember, insertMember, type MemberFacts, updateRole } from './store.ts'

/** Throws ApiError `permission_denied` unless the caller is an owner or admin. */
export function requireManager(principal: Principal): void {
  if (principal.role !== 'member') return
  throw new ApiError('permission_denied', 'Only owners and admins can do this. Ask one of them.')
}

/** Only owners decide about owners. Throws ApiError `permission_denied`. */
export function requireMayGive(principal: Principal, role: Role): void {
  requireManager(principal)
  if (role !== 'owner' || principal.role === 'owner') return
  throw new ApiError('permission_denied', 'Only an owner can decide about owners.', { param: 'role' })
}

/** From the one who may do most. */
const RANKS: readonly Role[] = ['owner', 'admin', 'member']

/**
 * The role the caller has now, after everybody else who changes members of this organization is done: the one they were let in by may
 * be seconds old. Throws ApiError `permission_denied` for somebody who is no longer a member.
 */
export async function lockedRole(tx: Tx, principal: Principal): Promise<Principal> {
  const { org_id, user_id } = principal
  await lockOrganization(tx, org_id)
  const member = await findMember(tx, { org_id, user_id })
  if (!member) throw new ApiError('permission_denied', 'You are no longer a member of this organization.')
  return { ...principal, role: member.role }
}

/** Adds a person. Throws ApiError `conflict` when they are a member already. */
export async function addMember(
  tx: Tx,
  member: { org_id: string; user_id: string; role: Role; now: Date },
): Promise<void> {
  const { org_id, user_id, role, now } = member
  try {
    await insertMember(tx, { id: newRowId('member', now), org_id, user_id, role, created_at: now })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw new ApiError('conflict', 'This person is a member of the organization already.')
  }
}

/**
 * Gives a member another role. Whoever is given a lower one may no longer invite as before: their open invitations end with it.
 * Throws ApiError `not_found`, `permission_denied`, or `conflict` for the last owner.
 */
export async function changeRole(
  db: Kysely<Database>,
  principal: Principal,
  change: { user_id: string; role: Role; now: Date },
): Promise<MemberFacts> {
  requireMayGive(principal, change.role)
  return db.transaction().execute(async (tx) => {
    const { member, caller } = await lockedMember(tx, principal, change.user_id)
    requireMayGive(caller, change.role)
    if (member.role === 'owner' && change.role !== 'owner') await requireAnotherOwner(tx, principal.org_id)
    const { user_id, role, now } = change
    await updateRole(tx, { org_id: principal.org_id, user_id, role })
    await record(tx, principal, {
      action: 'member.role',
      target: user_id,
      details: { from: member.role, to: role },
      now,
    })
    if (RANKS.indexOf(change.role) > RANKS.indexOf(member.role)) {
      await cancelInvitationsBy(tx, { org_id: principal.org_id, inviter_id: change.user_id })
    }
    return { ...member, role: change.role }
  })
}

/**
 * Takes a member out: their keys and logins in this organization end with it.
 * Throws ApiError `not_found`, `permission_denied`, or `conflict` for the last owner.
 */
export async function removeMember(
  db: Kysely<Database>,
  principal: Principal,
  which: { user_id: string; now: Date },
): Promise<void> {
  requireManager(principal)
  await db.transaction().execute(async (tx) => {
    const { member } = await lockedMember(tx, principal, which.user_id)
    if (member.role === 'owner') await requireAnotherOwner(tx, principal.org_id)
    await deleteMember(tx, { org_id: principal.org_id, ...which })
    const { user_id: target, now } = which
    await record(tx, principal, { action: 'member.remove', target, details: { role: member.role }, now })
  })
}

type Change = Pick<NewActivity, 'action' | 'target' | 'now'> & { details: NonNullable<NewActivity['details']> }

async function record(tx: Tx, principal: Principal, change: Change): Promise<void> {
  await recordActivity(tx, { actor: actorOf(principal), org_id: principal.org_id, ...change })
}

/** The member, and the caller with the role they have now, after everybody else who changes members of this organization is done. */
async function lockedMember(
  tx: Tx,
  principal: Principal,
  user_id: string,
): Promise<{ member: MemberFacts; caller: Principal }> {
  const caller = await lockedRole(tx, principal)
  requireManager(caller)
  const member = await findMember(tx, { org_id: principal.org_id, user_id })
  if (!member) throw notFound('member')
  requireMayGive(caller, member.role)
  return { member, caller }
}

async function requireAnotherOwner(tx: Tx, org_id: string): Promise<void> {
  if ((await countOwners(tx, org_id)) > 1) return
  throw new ApiError('conflict', 'An organization needs at least one owner. Make somebody else an owner first.')
}
