import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/db/db.ts'
import { type EndedUnverified, endUnverified } from '../people/unverified.ts'

/** A sign-in that has gone to the identity provider. `state_hash` is SHA-256 of the state that went along. */
type OidcSignInRow = { state_hash: Buffer; nonce: string; code_verifier: string; created_at: Date }

declare module '../../platform/db/db.ts' {
  interface Database {
    oidc_sign_ins: OidcSignInRow
  }
}

/** Stores it, and deletes those begun before `before`. */
export async function insertOidcSignIn(db: Db, row: OidcSignInRow, before: Date): Promise<void> {
  await db.deleteFrom('oidc_sign_ins').where('created_at', '<=', before).execute()
  await db.insertInto('oidc_sign_ins').values(row).execute()
}

/** Takes it, once. Null when it is unknown, taken already, or begun before `before`. */
export async function takeOidcSignIn(
  db: Db,
  which: { state_hash: Buffer; before: Date },
): Promise<OidcSignInRow | null> {
  const taken = await db
    .deleteFrom('oidc_sign_ins')
    .where('state_hash', '=', which.state_hash)
    .returningAll()
    .executeTakeFirst()
  return taken && taken.created_at > which.before ? taken : null
}

/** The person whose login at this provider has this subject. */
export async function findUserBySubject(db: Db, who: { provider_id: string; subject: string }): Promise<string | null> {
  const found = await db
    .selectFrom('logins')
    .select('user_id')
    .where('provider_id', '=', who.provider_id)
    .where('account_id', '=', who.subject)
    .executeTakeFirst()
  return found?.user_id ?? null
}

/** Links a subject to a person. Throws a unique violation when it is linked already. */
export async function insertOidcLogin(
  tx: Tx,
  login: { id: string; user_id: string; provider_id: string; subject: string; now: Date },
): Promise<void> {
  const { id, user_id, provider_id, subject, now } = login
  const row = { id, user_id, provider_id, account_id: subject, password: null, created_at: now, updated_at: now }
  await tx.insertInto('logins').values(row).execute()
}

/**
 * Ends what was set up before the address was verified: password, second factor, sessions, API keys, open invitations. Until then nobody had
 * verified that the person who chose the password owns the address. Returns the keys and invitations that ended.
 */
export async function dropUnverifiedLogin(tx: Tx, user: { user_id: string; now: Date }): Promise<EndedUnverified> {
  const { user_id, now } = user
  await tx.deleteFrom('logins').where('user_id', '=', user_id).where('provider_id', '=', 'credential').execute()
  await tx.deleteFrom('two_factors').where('user_id', '=', user_id).execute()
  await tx.deleteFrom('sessions').where('user_id', '=', user_id).execute()
  await tx
    .updateTable('users')
    .set({ email_verified: true, two_factor_enabled: false, updated_at: now })
    .where('id', '=', user_id)
    .execute()
  return endUnverified(tx, { user_id, now })
}

/** Serializes sign-ins of one address by the provider, until the transaction ends. */
export async function lockAddress(tx: Tx, email: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`oidc ${email}`}, 0))`.execute(tx)
}
