import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/db/db.ts'

/** One row a person; made and read by the login library, `verified` once the factor counts. Secret and recovery codes are encrypted. */
type TwoFactorRow = { id: string; user_id: string; verified: boolean; secret: string; backup_codes: string }

/** The encrypted parts of a second factor. */
export type Encrypted = Pick<TwoFactorRow, 'secret' | 'backup_codes'>

type UsedCodeRow = { user_id: string; code_hash: string; used_at: Date }

declare module '../../platform/db/db.ts' {
  interface Database {
    two_factors: TwoFactorRow
    two_factor_codes: UsedCodeRow
  }
}

export async function hasTwoFactor(db: Db, user_id: string): Promise<boolean> {
  const found = await db.selectFrom('users').select('two_factor_enabled').where('id', '=', user_id).executeTakeFirst()
  return found?.two_factor_enabled ?? false
}

export function findEncrypted(db: Db, user_id: string): Promise<Encrypted | undefined> {
  return db
    .selectFrom('two_factors')
    .select(['secret', 'backup_codes'])
    .where('user_id', '=', user_id)
    .executeTakeFirst()
}

/** False when it has changed since it was read. */
export async function replaceEncrypted(
  db: Db,
  user_id: string,
  { was, now }: { was: Encrypted; now: Encrypted },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('two_factors')
    .set(now)
    .where('user_id', '=', user_id)
    .where('secret', '=', was.secret)
    .where('backup_codes', '=', was.backup_codes)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Records a code as used, by the first of its hashes. False when one of them was used since `since`. Deletes older ones. */
export async function takeCode(
  db: Db,
  code: { user_id: string; code_hashes: readonly string[]; used_at: Date; since: Date },
): Promise<boolean> {
  const { user_id, code_hashes, used_at, since } = code
  await db.deleteFrom('two_factor_codes').where('used_at', '<=', since).execute()
  const { numAffectedRows } = await sql`
    insert into two_factor_codes (user_id, code_hash, used_at)
    select ${user_id}::text, ${code_hashes[0]!}::text, ${used_at}::timestamptz
    where not exists (select from two_factor_codes where user_id = ${user_id} and code_hash = any(${code_hashes}))
    on conflict do nothing`.execute(db)
  return numAffectedRows === 1n
}

/** Removes the second factor, also an unconfirmed one, and ends every session of the person. False when none was on. */
export async function deleteTwoFactor(tx: Tx, user_id: string): Promise<boolean> {
  await tx.deleteFrom('two_factors').where('user_id', '=', user_id).execute()
  const { numUpdatedRows } = await tx
    .updateTable('users')
    .set({ two_factor_enabled: false })
    .where('id', '=', user_id)
    .where('two_factor_enabled', '=', true)
    .executeTakeFirst()
  await tx.deleteFrom('sessions').where('user_id', '=', user_id).execute()
  return numUpdatedRows > 0n
}
