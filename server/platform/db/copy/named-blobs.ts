import { type Kysely, sql } from 'kysely'
import type { Database } from '../db.ts'

/**
 * The sha256 with which a row names this blob; null when none does. `named`: statements that give `key` and `sha256` of every blob, which
 * PostgreSQL narrows to the one key by the indexes of their tables.
 */
export async function findNamedSha256(
  db: Kysely<Database>,
  key: string,
  named: readonly string[],
): Promise<string | null> {
  const all = sql.join(
    named.map((each) => sql`(select key, sha256 from (${sql.raw(each)}) as named)`),
    sql` union all `,
  )
  const { rows } = await sql<{
    sha256: string
  }>`select sha256 from (${all}) as every where key = ${key} limit 1`.execute(db)
  return rows[0]?.sha256 ?? null
}
