import { sql } from 'kysely'
import type { Db, Tx } from '../platform/db.ts'

/** One row a person; made and read by the login library, `verified` once the factor counts. */
type TwoFactorRow = { id: string; user_id: string; verified: boolean }

type UsedCodeRow = { user_id: string; code_hash: string; used_at: Date }

declare module '../platform/db.ts' {
  interface Database {
    two_factors: TwoFactorRow
    two_factor_codes: UsedCodeRow
  }
}

export async function hasTwoFactor(db: Db, user_id: string): Promise<boolean> {
  const found = await db.selectFrom('users').select('two_factor_enabled').where('id', '=', user_id).executeTakeFirst()
  return found?.two_factor_enabled ?? false
}

/** False when the same code was taken since `since`. Older ones are forgotten. */
export async function takeCode(db: Db, code: UsedCodeRow & { since: Date }): Promise<boolean> {
  const { user_id, code_hash, used_at, since } = code
  await db.deleteFrom('two_factor_codes').where('used_at', '<=', since).execute()
  const { numAffectedRows } = await sql`
    insert into two_factor_codes (user_id, code_hash, used_at) values (${user_id}, ${code_hash}, ${used_at})
    on conflict do nothing`.execute(db)
  return numAffectedRows === 1n
}

/** Takes the second factor off, an unconfirmed one too, and ends every login of the person. False when there was none in force. */
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
