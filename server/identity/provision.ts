import type { Tx } from '../platform/db.ts'
import { newId } from '../platform/ids.ts'
import { readEmail } from './email.ts'
import { randomText } from './key-format.ts'
import { hashPassword } from './login.ts'
import { addMember } from './members.ts'
import type { Role } from './principal.ts'
import { newRowId } from './row-ids.ts'
import { findUser, insertOrganization, insertUser } from './store.ts'

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
 * Makes a person a member; one whose email is known keeps name and password. Returns their id, and whether they are new.
 * Throws ApiError `invalid_value` for an email nobody could sign in with, `conflict` for a member.
 */
export async function createMember(
  tx: Tx,
  person: { org_id: string; email: string; name: string; role: Role; password_hash: string; now: Date },
): Promise<{ user_id: string; created: boolean }> {
  const { org_id, role, name, password_hash, now } = person
  const email = readEmail(person.email)
  const known = await findUser(tx, email)
  const user_id = known?.id ?? newId('user', now)
  if (!known) await insertUser(tx, { id: user_id, login_id: newRowId('login', now), email, name, password_hash, now })
  await addMember(tx, { org_id, user_id, role, now })
  return { user_id, created: !known }
}
