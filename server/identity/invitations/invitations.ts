import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import { addSeconds } from '../../platform/clock.ts'
import { type Database, isUniqueViolation, type Tx } from '../../platform/db/db.ts'
import { ApiError, notFound } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { actorOf, recordActivity } from '../activity/activity.ts'
import type { Principal, Role } from '../caller/principal.ts'
import { randomText } from '../keys/format.ts'
import { hashPassword } from '../login/passwords.ts'
import { type LoginContext, type SecondFactorDue, type SignedIn, signIn } from '../login/sign-in.ts'
import { lockSession } from '../login/store.ts'
import { addMember, lockedRole, requireManager, requireMayGive } from '../members/members.ts'
import { isMemberByEmail } from '../members/store.ts'
import { readEmail } from '../people/email.ts'
import { findOrganization, findUser, insertUser } from '../people/store.ts'
import { newRowId } from '../row-ids.ts'
import { acceptInvitation, cancelInvitation, findInvitation, type InvitationRow, replaceInvitation } from './store.ts'

/** An invitation that was not accepted for this long is void. */
const INVITATION_SECONDS = 7 * 24 * 3600

/**
 * Invites an email address; an open invitation of the same address ends. There is no mailer: the caller hands `token` over.
 * Throws ApiError `permission_denied`, `missing_api_key` when the login has just ended, or `conflict` when the person is a member already.
 */
export async function invite(
  db: Kysely<Database>,
  principal: Principal,
  invitation: { email: string; role: Role; now: Date },
): Promise<InvitationRow & { token: string }> {
  const { role, now } = invitation
  requireMayGive(principal, role)
  const email = readEmail(invitation.email)
  const { org_id, user_id: inviter_id } = principal
  const token = `inv_${randomText(40)}`
  const id = newRowId('invitation', now)
  const times = { created_at: now, expires_at: addSeconds(now, INVITATION_SECONDS) }
  const row = { id, org_id, email, role, inviter_id, token_hash: hashInvitation(token), ...times }
  await db.transaction().execute(async (tx) => {
    requireMayGive(await lockedRole(tx, principal), role)
    if (principal.session_id !== null) await lockSession(tx, principal.session_id)
    if (await isMemberByEmail(tx, { org_id, email })) {
      throw new ApiError('conflict', 'This person is a member of the organization already.', { param: 'email' })
    }
    await replaceInvitation(tx, row)
    const deed = { actor: actorOf(principal), action: 'invitation.create', org_id, target: id, now } as const
    await recordActivity(tx, { ...deed, details: { email, role } })
  })
  return { ...row, status: 'pending', token }
}

/** Withdraws an open invitation. Throws ApiError `permission_denied`, or `not_found` when it is not there, foreign or no longer open. */
export async function withdraw(
  db: Kysely<Database>,
  principal: Principal,
  { id, now }: { id: string; now: Date },
): Promise<void> {
  requireManager(principal)
  await db.transaction().execute(async (tx) => {
    requireManager(await lockedRole(tx, principal))
    if (!(await cancelInvitation(tx, { org_id: principal.org_id, id }))) throw notFound('invitation')
    const { org_id } = principal
    await recordActivity(tx, { actor: actorOf(principal), action: 'invitation.withdraw', org_id, target: id, now })
  })
}

/**
 * What an open invitation invites to, for the person who holds its token. Changes nothing.
 * Throws ApiError `not_found` when it is not open, or no longer.
 */
export async function previewInvitation(
  db: Kysely<Database>,
  { token, now }: { token: string; now: Date },
): Promise<InvitationRow & { org_name: string; has_account: boolean }> {
  const invitation = await findInvitation(db, { token_hash: hashInvitation(token), now })
  if (!invitation) throw notFound('invitation')
  const [organization, user] = await Promise.all([
    findOrganization(db, invitation.org_id),
    findUser(db, invitation.email),
  ])
  return { ...invitation, org_name: organization!.name, has_account: user !== null }
}

export type Acceptance = { token: string; name?: string; password?: string; address: string; user_agent: string }

/**
 * Makes the invited person a member. Somebody new chooses a name and a password; somebody who has an account proves it, by
 * being signed in (`signed_in`) or with their password. Returns the new session, or null when `signed_in` goes on. Where a second factor
 * is due nobody has joined yet: they sign in and accept again.
 * Throws ApiError `not_found`, `missing_required_parameter`, `invalid_api_key`, `rate_limit_exceeded`, `conflict`.
 */
export async function joinByInvitation(
  login: LoginContext,
  acceptance: Acceptance,
  signed_in: { user_id: string } | null,
): Promise<{ org_id: string; session: SignedIn | SecondFactorDue | null }> {
  const { db, clock } = login
  const now = clock.now()
  const invitation = await findInvitation(db, { token_hash: hashInvitation(acceptance.token), now })
  if (!invitation) throw notFound('invitation')
  const user = await findUser(db, invitation.email)
  if (user && signed_in?.user_id === user.id) {
    await join(db, invitation, { user_id: user.id, now })
    return { org_id: invitation.org_id, session: null }
  }
  const name = user ? user.name : required(acceptance.name, 'name')
  const password = required(acceptance.password, 'password')
  const attempt = { ...acceptance, email: invitation.email, password }
  if (user) {
    const session = await signIn(login, attempt)
    if ('challenge' in session) return { org_id: invitation.org_id, session }
    await join(db, invitation, { user_id: user.id, now })
    return { org_id: invitation.org_id, session }
  }
  const password_hash = await hashPassword(password)
  await join(db, invitation, { newcomer: { name, password_hash }, now })
  return { org_id: invitation.org_id, session: await signIn(login, attempt) }
}

type Newcomer = Pick<Parameters<typeof insertUser>[1], 'name' | 'password_hash' | 'email_verified'>
type Joiner = { now: Date } & ({ user_id: string } | { newcomer: Newcomer })

/** Throws ApiError `not_found` and `conflict` as `joinIn`, and `conflict` when the address got an account meanwhile. */
async function join(db: Kysely<Database>, invitation: InvitationRow, joiner: Joiner): Promise<void> {
  try {
    await db.transaction().execute((tx) => joinIn(tx, invitation, joiner))
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw new ApiError('conflict', 'An account was just created for this address. Accept again with its password.')
  }
}

/**
 * Makes somebody a member by an invitation, and records it. Returns who. Throws ApiError `not_found` when somebody was first, `conflict` for
 * a member, and a unique violation when the address has an account already.
 */
export async function joinIn(tx: Tx, invitation: InvitationRow, joiner: Joiner): Promise<string> {
  const { now } = joiner
  if (!(await acceptInvitation(tx, invitation.id))) throw notFound('invitation')
  const user_id = 'user_id' in joiner ? joiner.user_id : newId('user', now)
  if ('newcomer' in joiner) {
    const login_id = newRowId('login', now)
    await insertUser(tx, { id: user_id, login_id, email: invitation.email, ...joiner.newcomer, now })
  }
  const { id, org_id, role } = invitation
  await addMember(tx, { org_id, user_id, role, now })
  const actor = { kind: 'person', user_id, key_id: null } as const
  await recordActivity(tx, { actor, action: 'invitation.accept', org_id, target: id, details: { role }, now })
  return user_id
}

function hashInvitation(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

function required(value: string | undefined, param: string): string {
  if (value !== undefined) return value
  throw new ApiError('missing_required_parameter', `Missing required parameter: '${param}'.`, { param })
}
