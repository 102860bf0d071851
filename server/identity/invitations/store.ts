import type { Db, Tx } from '../../platform/db/db.ts'
import { comparisonOf, type Position } from '../../platform/http/list.ts'
import type { Role } from '../caller/principal.ts'

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

/** Ends the open invitations that somebody has sent, in one organization or all. */
export async function cancelInvitationsBy(
  tx: Tx,
  inviter: { org_id?: string; inviter_id: string },
): Promise<Array<{ id: string; org_id: string }>> {
  return cancelOpen(tx, inviter)
}

/** Takes the place of an open invitation of the same person. The caller holds the organization's lock. */
export async function replaceInvitation(tx: Tx, row: Omit<InvitationRow, 'status'>): Promise<void> {
  await cancelOpen(tx, { org_id: row.org_id, email: row.email })
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
  let query = openInvitations(db, position.now).where('org_id', '=', org_id)
  if (position.after !== null) query = query.where('id', comparisonOf(position.order), position.after)
  return query
    .orderBy('id', position.order)
    .limit(position.limit + 1)
    .execute()
}

/** False when it is not there, another organization's, or no longer open. */
export async function cancelInvitation(tx: Tx, which: { org_id: string; id: string }): Promise<boolean> {
  return (await cancelOpen(tx, which)).length > 0
}

/** The open invitation whose secret hashes to `token_hash`. */
export async function findInvitation(db: Db, which: { token_hash: Buffer; now: Date }): Promise<InvitationRow | null> {
  const found = await openInvitations(db, which.now).where('token_hash', '=', which.token_hash).executeTakeFirst()
  return found ?? null
}

/** An invitation with what the invited person is shown of it. */
export type NamedInvitation = InvitationRow & { org_name: string; inviter_email: string }

/** The open invitations of an address, at most one of each organization, the newest first. */
export async function findInvitationsOf(db: Db, who: { email: string; now: Date }): Promise<NamedInvitation[]> {
  return openInvitations(db, who.now)
    .innerJoin('organizations', 'organizations.id', 'invitations.org_id')
    .innerJoin('users', 'users.id', 'invitations.inviter_id')
    .select(['organizations.name as org_name', 'users.email as inviter_email'])
    .where('invitations.email', '=', who.email)
    .orderBy('invitations.id', 'desc')
    .limit(INVITATIONS_MAX)
    .execute()
}

/** More than any person is invited to. */
const INVITATIONS_MAX = 100

/** Marks it accepted. False when it was accepted before or has been canceled. */
export async function acceptInvitation(tx: Tx, id: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('invitations')
    .set({ status: 'accepted' })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

function openInvitations(db: Db, now: Date) {
  return db
    .selectFrom('invitations')
    .selectAll('invitations')
    .where('invitations.status', '=', 'pending')
    .where('invitations.expires_at', '>', now)
}

/** Cancels the open invitations that have these values. */
async function cancelOpen(
  tx: Tx,
  having: Partial<Pick<InvitationRow, 'id' | 'org_id' | 'email' | 'inviter_id'>>,
): Promise<Array<{ id: string; org_id: string }>> {
  return tx
    .updateTable('invitations')
    .set({ status: 'canceled' })
    .where((where) => where.and({ ...having, status: 'pending' }))
    .returning(['id', 'org_id'])
    .execute()
}
