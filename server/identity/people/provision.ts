import { isUniqueViolation, type Tx } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Role } from '../caller/principal.ts'
import { randomText } from '../keys/format.ts'
import { hashPassword } from '../login/passwords.ts'
import { addMember } from '../members/members.ts'
import { newRowId } from '../row-ids.ts'
import { deleteTwoFactor } from '../two-factor/store.ts'
import { readEmail } from './email.ts'
import { findUser, insertOrganization, insertUser, replacePassword } from './store.ts'
import { type EndedUnverified, endUnverified } from './unverified.ts'

/** Makes an organization with no members. Its account is the caller's to open. Returns its id. */
export async function createOrganization(
  tx: Tx,
  organization: { name: string; plan: string; now: Date },
): Promise<string> {
  const { name, plan, now } = organization
  const id = newId('org', now)
  await insertOrganization(tx, { id, name, plan, created_at: now })
  return id
}

/** A password and its hash, made before a transaction begins: hashing takes a while. 119 bits when it is ours to choose. */
export async function newPassword(chosen?: string): Promise<{ password: string; password_hash: string }> {
  const password = chosen ?? randomText(20)
  return { password, password_hash: await hashPassword(password) }
}

/**
 * Makes a person a member; one whose email is known keeps their name, and their password where the address is known to be theirs. Where
 * nobody has shown that, whoever chose the old password may be another person: it is replaced, and their sessions, API keys and invitations
 * end. Returns their id, whether the password was replaced, and the keys and invitations that ended.
 * Throws ApiError `invalid_value` for an email that cannot sign in, `conflict` for a member.
 */
export async function createMember(
  tx: Tx,
  person: { org_id: string; email: string; name: string; role: Role; password_hash: string; now: Date },
): Promise<{
  user_id: string
  created: boolean
  password_reset: boolean
  ended: EndedUnverified | null
}> {
  const { org_id, role, name, password_hash, now } = person
  const email = readEmail(person.email)
  const known = await findUser(tx, email)
  const user_id = known?.id ?? newId('user', now)
  if (!known)
    await insertNewcomer(tx, { id: user_id, login_id: newRowId('login', now), email, name, password_hash, now })
  await addMember(tx, { org_id, user_id, role, now })
  const password_reset = known !== null && !known.email_verified
  if (password_reset) {
    await deleteTwoFactor(tx, user_id)
    await replacePassword(tx, { user_id, password_hash, now })
  }
  const ended = password_reset ? await endUnverified(tx, { user_id, now }) : null
  return { user_id, created: !known, password_reset, ended }
}

async function insertNewcomer(tx: Tx, user: Parameters<typeof insertUser>[1]): Promise<void> {
  try {
    await insertUser(tx, user)
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw new ApiError('conflict', `An account was just created for ${user.email}. Try again.`)
  }
}
