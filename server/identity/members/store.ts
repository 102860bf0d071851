import type { Db, Tx } from '../../platform/db/db.ts'
import { comparisonOf, type Position } from '../../platform/http/list.ts'
import type { Role } from '../caller/principal.ts'
import { cancelInvitationsBy } from '../invitations/store.ts'
import type { MemberRow } from '../people/store.ts'

/** A member with the person's own facts. `id` is the person's. */
export type MemberFacts = { id: string; email: string; name: string; role: Role; created_at: Date }

/** One more than `position.limit`. Sorted by the person's id. */
export async function listMembers(db: Db, org_id: string, position: Position): Promise<MemberFacts[]> {
  let query = memberFacts(db, org_id)
  if (position.after !== null) query = query.where('users.id', comparisonOf(position.order), position.after)
  return query
    .orderBy('users.id', position.order)
    .limit(position.limit + 1)
    .execute()
}

export async function findMember(db: Db, who: { org_id: string; user_id: string }): Promise<MemberFacts | null> {
  return (await memberFacts(db, who.org_id).where('users.id', '=', who.user_id).executeTakeFirst()) ?? null
}

/** Throws a unique violation when the person is a member already. */
export async function insertMember(tx: Db, row: MemberRow): Promise<void> {
  await tx.insertInto('members').values(row).execute()
}

export async function isMemberByEmail(db: Db, who: { org_id: string; email: string }): Promise<boolean> {
  const found = await db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .select('members.id')
    .where('members.org_id', '=', who.org_id)
    .where('users.email', '=', who.email)
    .executeTakeFirst()
  return found !== undefined
}

export async function countOwners(tx: Tx, org_id: string): Promise<number> {
  const { count } = await tx
    .selectFrom('members')
    .select((select) => select.fn.countAll<bigint>().as('count'))
    .where('org_id', '=', org_id)
    .where('role', '=', 'owner')
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function updateRole(tx: Tx, change: { org_id: string; user_id: string; role: Role }): Promise<void> {
  const { org_id, user_id, role } = change
  await tx.updateTable('members').set({ role }).where('org_id', '=', org_id).where('user_id', '=', user_id).execute()
}

/** Takes the person out: the membership, their keys, their logins and their open invitations, in this organization alone. */
export async function deleteMember(tx: Tx, who: { org_id: string; user_id: string; now: Date }): Promise<void> {
  const { org_id, user_id, now } = who
  await tx.deleteFrom('members').where('org_id', '=', org_id).where('user_id', '=', user_id).execute()
  await tx
    .updateTable('api_keys')
    .set({ revoked_at: now })
    .where('org_id', '=', org_id)
    .where('user_id', '=', user_id)
    .where('revoked_at', 'is', null)
    .execute()
  await tx.deleteFrom('sessions').where('org_id', '=', org_id).where('user_id', '=', user_id).execute()
  await cancelInvitationsBy(tx, { org_id, inviter_id: user_id })
}

function memberFacts(db: Db, org_id: string) {
  return db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .select(['users.id', 'users.email', 'users.name', 'members.role', 'members.created_at'])
    .where('members.org_id', '=', org_id)
}
