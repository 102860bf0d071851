import { type Generated, sql } from 'kysely'
import { type Db, isUniqueViolation, type Tx } from '../../platform/db/db.ts'
import type { Role } from '../caller/principal.ts'
import { newRowId } from '../row-ids.ts'

export type UserRow = {
  id: string
  name: string
  /** Lower case. */
  email: string
  email_verified: boolean
  two_factor_enabled: boolean
  created_at: Date
  updated_at: Date
}

export type OrganizationRow = { id: string; name: string; slug: string; plan: string; created_at: Date }

/** What members may delete: what everybody has made, or only their own. */
export type MembersDelete = 'own' | 'all'

/** The name in lower case, which no two organizations share. */
type NameKey = { name_key: string }

type OrganizationSettings = { members_delete: Generated<MembersDelete> }

export type MemberRow = { id: string; org_id: string; user_id: string; role: Role; created_at: Date }

/** How a person proves who they are; `password` is scrypt, made and read by the login library. */
type LoginRow = {
  id: string
  user_id: string
  provider_id: string
  account_id: string
  password: string | null
  created_at: Date
  updated_at: Date
}

declare module '../../platform/db/db.ts' {
  interface Database {
    users: UserRow
    organizations: OrganizationRow & NameKey & OrganizationSettings
    members: MemberRow
    logins: LoginRow
  }
}

/** Throws an error that `isOrganizationNameTaken` recognizes when another organization has the name. */
export async function insertOrganization(tx: Db, row: Omit<OrganizationRow, 'slug'>): Promise<void> {
  await tx
    .insertInto('organizations')
    .values({ ...row, slug: row.id, name_key: row.name.toLowerCase() })
    .execute()
}

/** Whether a row was refused because another organization has the name, whatever its case. */
export function isOrganizationNameTaken(error: unknown): boolean {
  return isUniqueViolation(error, 'organizations_name_key')
}

export async function anyOrganization(db: Db): Promise<boolean> {
  return (await db.selectFrom('organizations').select('id').limit(1).executeTakeFirst()) !== undefined
}

/** Lets one process at a time begin, until the transaction ends. */
export async function lockFirstRun(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${FIRST_RUN_LOCK}::bigint)`.execute(tx)
}

/** Any number: it only has to be the same in every process. */
const FIRST_RUN_LOCK = 7_301_950_144

/** By id, else by name. */
export async function findOrganization(db: Db, idOrName: string): Promise<OrganizationRow | null> {
  const found = await db
    .selectFrom('organizations')
    .select(['id', 'name', 'slug', 'plan', 'created_at'])
    .where((where) => where.or([where('id', '=', idOrName), where('name', '=', idOrName)]))
    .orderBy(sql`id = ${idOrName}`, 'desc')
    .limit(1)
    .executeTakeFirst()
  return found ?? null
}

/** The organization that already has a name, whatever its case. */
export async function findOrganizationCalled(db: Db, name: string): Promise<{ id: string; name: string } | null> {
  const found = await db
    .selectFrom('organizations')
    .select(['id', 'name'])
    .where('name_key', '=', name.toLowerCase())
    .executeTakeFirst()
  return found ?? null
}

/** Names of organizations by id. */
export async function findOrganizationNames(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('organizations')
    .select(['id', 'name'])
    .where('id', 'in', [...new Set(ids)])
    .execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

export async function updatePlan(db: Db, change: { org_id: string; plan: string }): Promise<void> {
  await db.updateTable('organizations').set({ plan: change.plan }).where('id', '=', change.org_id).execute()
}

export async function findMembersDelete(db: Db, org_id: string): Promise<MembersDelete> {
  const query = db.selectFrom('organizations').select('members_delete').where('id', '=', org_id)
  return (await query.executeTakeFirstOrThrow()).members_delete
}

export async function updateMembersDelete(
  tx: Tx,
  change: { org_id: string; members_delete: MembersDelete },
): Promise<void> {
  const { org_id, members_delete } = change
  await tx.updateTable('organizations').set({ members_delete }).where('id', '=', org_id).execute()
}

/**
 * The person and how they sign in, in two rows. `password_hash` null: they do not sign in with a password, and `email_verified` says
 * whether somebody else has made sure of the address.
 */
export async function insertUser(
  tx: Db,
  user: {
    id: string
    login_id: string
    email: string
    name: string
    password_hash: string | null
    email_verified?: boolean
    now: Date
  },
): Promise<void> {
  const { id, login_id, name, password_hash, email_verified = false, now } = user
  const times = { created_at: now, updated_at: now }
  await tx
    .insertInto('users')
    .values({ id, name, email: user.email.toLowerCase(), email_verified, two_factor_enabled: false, ...times })
    .execute()
  if (password_hash === null) return
  const login = { id: login_id, user_id: id, provider_id: 'credential', account_id: id, password: password_hash }
  await tx
    .insertInto('logins')
    .values({ ...login, ...times })
    .execute()
}

/** By id or email. */
export async function findUser(db: Db, idOrEmail: string): Promise<UserRow | null> {
  const found = await db
    .selectFrom('users')
    .select(['id', 'name', 'email', 'email_verified', 'two_factor_enabled', 'created_at', 'updated_at'])
    .where((where) => where.or([where('id', '=', idOrEmail), where('email', '=', idOrEmail.toLowerCase())]))
    .executeTakeFirst()
  return found ?? null
}

/** Names of people by their ids. */
export async function findNames(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('users')
    .select(['id', 'name'])
    .where('id', 'in', [...new Set(ids)])
    .execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

export async function updateName(db: Db, change: { user_id: string; name: string; now: Date }): Promise<void> {
  const { user_id, name, now } = change
  await db.updateTable('users').set({ name, updated_at: now }).where('id', '=', user_id).execute()
}

/** How a person may prove who they are: the scrypt hash of their password, if they have one, and the identity providers linked. */
export async function findLogins(
  db: Db,
  user_id: string,
): Promise<Array<Pick<LoginRow, 'provider_id' | 'account_id' | 'password'>>> {
  return db
    .selectFrom('logins')
    .select(['provider_id', 'account_id', 'password'])
    .where('user_id', '=', user_id)
    .orderBy('id')
    .execute()
}

/**
 * The hash of the person's password, null for somebody who has none. Waits for whoever is just replacing it; in a transaction nobody else
 * replaces it until the end.
 */
export async function lockPassword(db: Db, user_id: string): Promise<string | null> {
  const found = await db
    .selectFrom('logins')
    .select('password')
    .where('user_id', '=', user_id)
    .where('provider_id', '=', 'credential')
    .forUpdate()
    .executeTakeFirst()
  return found?.password ?? null
}

/**
 * Replaces the password, or gives one to somebody who signed in otherwise. Ends every session of the person, and every sign-in that has
 * got as far as the second factor.
 */
export async function replacePassword(
  tx: Tx,
  change: { user_id: string; password_hash: string; now: Date },
): Promise<void> {
  const { user_id, password_hash: password, now } = change
  const id = newRowId('login', now)
  const row = {
    id,
    user_id,
    provider_id: 'credential',
    account_id: user_id,
    password,
    created_at: now,
    updated_at: now,
  }
  await tx
    .insertInto('logins')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['provider_id', 'account_id']).doUpdateSet({ password, updated_at: now }),
    )
    .execute()
  await sql`delete from verifications where value = ${user_id}`.execute(tx)
  await tx.deleteFrom('sessions').where('user_id', '=', user_id).execute()
}

/** Organizations of a person, the one joined first at the head. */
export async function organizationsOf(
  db: Db,
  user_id: string,
): Promise<Array<{ id: string; name: string; role: Role }>> {
  return db
    .selectFrom('members')
    .innerJoin('organizations', 'organizations.id', 'members.org_id')
    .select(['organizations.id', 'organizations.name', 'members.role'])
    .where('members.user_id', '=', user_id)
    .orderBy('members.id')
    .execute()
}

/** Serializes changes of who belongs to an organization and as what, until the transaction ends. False when there is none. Charges, whose foreign key looks at the row, go on. */
export async function lockOrganization(tx: Tx, org_id: string): Promise<boolean> {
  const { rows } = await sql`select from organizations where id = ${org_id} for no key update`.execute(tx)
  return rows.length > 0
}
