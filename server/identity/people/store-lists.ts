import { type SqlBool, sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'

/** For the operator, who belongs to no organization: newest first, one row more than `limit` when there is more. */
export type OperatorQuery = { org_id: string | null; limit: number }

export async function listOrganizations(
  db: Db,
  { limit }: { limit: number },
): Promise<Array<{ id: string; name: string; plan: string; members: number; created_at: Date }>> {
  return db
    .selectFrom('organizations')
    .select(['id', 'name', 'plan', 'created_at'])
    .select(sql<number>`(select count(*)::int from members where members.org_id = organizations.id)`.as('members'))
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
}

/** People with what they are where, such as `owner of Acme`; one who is in no organization is listed too. */
export async function listPeople(
  db: Db,
  { org_id, limit }: OperatorQuery,
): Promise<
  Array<{ id: string; email: string; name: string; two_factor: boolean; memberships: string; created_at: Date }>
> {
  let query = db
    .selectFrom('users')
    .select(['users.id', 'users.email', 'users.name', 'users.two_factor_enabled as two_factor', 'users.created_at'])
    .select(
      sql<string>`coalesce((
        select string_agg(m.role || ' of ' || o.name, ', ' order by m.id)
        from members m join organizations o on o.id = m.org_id where m.user_id = users.id), '')`.as('memberships'),
    )
  if (org_id !== null) {
    query = query.where(
      sql<SqlBool>`exists (select from members m where m.user_id = users.id and m.org_id = ${org_id})`,
    )
  }
  return query
    .orderBy('users.id', 'desc')
    .limit(limit + 1)
    .execute()
}

/** Good and revoked keys, never the key itself. */
export async function listKeysOfAnybody(db: Db, { org_id, limit }: OperatorQuery) {
  let query = db
    .selectFrom('api_keys')
    .innerJoin('organizations', 'organizations.id', 'api_keys.org_id')
    .innerJoin('users', 'users.id', 'api_keys.user_id')
    .select(['api_keys.id', 'api_keys.name', 'api_keys.hint', 'api_keys.created_at', 'api_keys.last_used_at'])
    .select(['api_keys.revoked_at', 'organizations.name as organization', 'users.email'])
  if (org_id !== null) query = query.where('api_keys.org_id', '=', org_id)
  return query
    .orderBy('api_keys.id', 'desc')
    .limit(limit + 1)
    .execute()
}
