import type { Db, Tx } from '../../platform/db/db.ts'
import { comparisonOf, type Position } from '../../platform/http/list.ts'
import type { Role } from '../caller/principal.ts'
import type { MemberRow } from './store.ts'

export type InvitationRow = {
  id: string
  org_id: string
  email: string
  role: Role
  status: 'pending' | 'accepted' | 'rejected' | 'canceled'
  inviter_id: string
  /** SHA-256 of the secret that was handed over. */
  token_hash: Buffer
  created_at: Date
  expires_at: Date
}

declare module '../../platform/db/db.ts' {
  interface Database {
    invitations: InvitationRow
  }
}

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
  await cancelInvitationsBy(tx, { org_id, user_id })
}

/** Ends the open invitations that somebody has sent. */
export async function cancelInvitationsBy(tx: Tx, inviter: { org_id: string; user_id: string }): Promise<void> {
  await tx
    .updateTable('invitations')
    .set({ status: 'canceled' })
    .where('org_id', '=', inviter.org_id)
    .where('inviter_id', '=', inviter.user_id)
    .where('status', '=', 'pending')
    .execute()
}

/** Takes the place of an open invitation of the same person. The caller holds the organization's lock. */
export async function replaceInvitation(tx: Tx, row: Omit<InvitationRow, 'status'>): Promise<void> {
  await tx
    .updateTable('invitations')
    .set({ status: 'canceled' })
    .where('org_id', '=', row.org_id)
    .where('email', '=', row.email)
    .where('status', '=', 'pending')
    .execute()
  await tx
    .insertInto('invitations')
    .values({ ...row, status: 'pending' })
    .execute()
}

/** Open ones, one more than `position.limit`. */
export async function listInvitations(
  db: Db,
  org_id: string,
  position: Position & { now: Date },
): Promise<InvitationRow[]> {
  let query = db
    .selectFrom('invitations')
    .selectAll()
    .where('org_id', '=', org_id)
    .where('status', '=', 'pending')
    .where('expires_at', '>', position.now)
  if (position.after !== null) query = query.where('id', comparisonOf(position.order), position.after)
  return query
    .orderBy('id', position.order)
    .limit(position.limit + 1)
    .execute()
}

/** False when it is not there, another organization's, or no longer open. */
export async function cancelInvitation(db: Db, which: { org_id: string; id: string }): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('invitations')
    .set({ status: 'canceled' })
    .where('org_id', '=', which.org_id)
    .where('id', '=', which.id)
    .where('status', '=', 'pending')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** The open invitation whose secret hashes to `token_hash`. */
export async function findInvitation(db: Db, which: { token_hash: Buffer; now: Date }): Promise<InvitationRow | null> {
  const found = await db
    .selectFrom('invitations')
    .selectAll()
    .where('token_hash', '=', which.token_hash)
    .where('status', '=', 'pending')
    .where('expires_at', '>', which.now)
    .executeTakeFirst()
  return found ?? null
}

/** The newest open invitation of an address, in whichever organization. */
export async function findInvitationOf(db: Db, who: { email: string; now: Date }): Promise<InvitationRow | null> {
  const found = await db
    .selectFrom('invitations')
    .selectAll()
    .where('email', '=', who.email)
    .where('status', '=', 'pending')
    .where('expires_at', '>', who.now)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return found ?? null
}

/** Uses it up. False when somebody else was first, or it has been canceled. */
export async function acceptInvitation(tx: Tx, id: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('invitations')
    .set({ status: 'accepted' })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

function memberFacts(db: Db, org_id: string) {
  return db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .select(['users.id', 'users.email', 'users.name', 'members.role', 'members.created_at'])
    .where('members.org_id', '=', org_id)
}
