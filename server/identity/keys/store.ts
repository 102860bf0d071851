import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/db/db.ts'
import { comparisonOf, type Position } from '../../platform/http/list.ts'
import type { Role } from '../caller/principal.ts'

export type ApiKeyRow = {
  id: string
  org_id: string
  user_id: string
  name: string
  /** SHA-256 of the whole key. */
  key_hash: Buffer
  hint: string
  created_at: Date
  /** To the minute. */
  last_used_at: Date | null
  revoked_at: Date | null
}

declare module '../../platform/db/db.ts' {
  interface Database {
    api_keys: ApiKeyRow
  }
}

export async function insertKey(db: Db, row: Omit<ApiKeyRow, 'last_used_at' | 'revoked_at'>): Promise<void> {
  await db
    .insertInto('api_keys')
    .values({ ...row, last_used_at: null, revoked_at: null })
    .execute()
}

/** How many good keys a person has in an organization. */
export async function countKeys(db: Db, { org_id, user_id }: { org_id: string; user_id: string }): Promise<number> {
  const { count } = await db
    .selectFrom('api_keys')
    .select((select) => select.fn.countAll<bigint>().as('count'))
    .where('org_id', '=', org_id)
    .where('user_id', '=', user_id)
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Good keys of one person (`user_id`) or of everybody (null), one more than `position.limit`. */
export async function listKeys(
  db: Db,
  whose: { org_id: string; user_id: string | null },
  position: Position,
): Promise<Array<Omit<ApiKeyRow, 'key_hash'>>> {
  let query = db
    .selectFrom('api_keys')
    .select(['id', 'org_id', 'user_id', 'name', 'hint', 'created_at', 'last_used_at', 'revoked_at'])
    .where('org_id', '=', whose.org_id)
    .where('revoked_at', 'is', null)
  if (whose.user_id !== null) query = query.where('user_id', '=', whose.user_id)
  if (position.after !== null) query = query.where('id', comparisonOf(position.order), position.after)
  return query
    .orderBy('id', position.order)
    .limit(position.limit + 1)
    .execute()
}

/** False when there is no such good key, or it is not theirs. `user_id` null: anybody's in the organization. */
export async function revokeKey(
  db: Db,
  which: { org_id: string; user_id: string | null; id: string; now: Date },
): Promise<boolean> {
  let query = db
    .updateTable('api_keys')
    .set({ revoked_at: which.now })
    .where('org_id', '=', which.org_id)
    .where('id', '=', which.id)
    .where('revoked_at', 'is', null)
  if (which.user_id !== null) query = query.where('user_id', '=', which.user_id)
  return (await query.executeTakeFirst()).numUpdatedRows > 0n
}

/** Revokes all keys of a person, in every organization. Returns those that were good. */
export async function revokeKeysOf(
  tx: Tx,
  { user_id, now }: { user_id: string; now: Date },
): Promise<Array<{ id: string; org_id: string }>> {
  return tx
    .updateTable('api_keys')
    .set({ revoked_at: now })
    .where('user_id', '=', user_id)
    .where('revoked_at', 'is', null)
    .returning(['id', 'org_id'])
    .execute()
}

/** For the operator, who has no organization: the key's own. */
export async function findKeyOrganization(db: Db, id: string): Promise<string | null> {
  const found = await db.selectFrom('api_keys').select('org_id').where('id', '=', id).executeTakeFirst()
  return found?.org_id ?? null
}

export type KeyOwner = { id: string; org_id: string; user_id: string; role: Role; plan: string }

/** The good key with this hash, of somebody who is still a member. */
export async function findKeyOwner(db: Db, key_hash: Buffer): Promise<KeyOwner | null> {
  const found = await db
    .selectFrom('api_keys')
    .innerJoin('members', (join) =>
      join.onRef('members.org_id', '=', 'api_keys.org_id').onRef('members.user_id', '=', 'api_keys.user_id'),
    )
    .innerJoin('organizations', 'organizations.id', 'api_keys.org_id')
    .select(['api_keys.id', 'api_keys.org_id', 'api_keys.user_id', 'members.role', 'organizations.plan'])
    .where('api_keys.key_hash', '=', key_hash)
    .where('api_keys.revoked_at', 'is', null)
    .executeTakeFirst()
  return found ?? null
}

/** Many keys in one statement; a key noted within the last minute, by any process, is left alone. */
export async function noteKeyUse(db: Db, uses: ReadonlyMap<string, Date>): Promise<void> {
  if (uses.size === 0) return
  await sql`
    update api_keys set last_used_at = used.at
    from unnest(${[...uses.keys()]}::text[], ${[...uses.values()]}::timestamptz[]) as used (id, at)
    where api_keys.id = used.id
      and (api_keys.last_used_at is null or api_keys.last_used_at <= used.at - interval '1 minute')`.execute(db)
}

/** Role and plan of a member, asking by a good key of theirs or, with null, by a console login. Null: no member, or no good key. */
export async function findStanding(
  db: Db,
  { org_id, user_id, key_id }: { org_id: string; user_id: string; key_id: string | null },
): Promise<{ role: Role; plan: string } | null> {
  const membership = db
    .selectFrom('members')
    .innerJoin('organizations', 'organizations.id', 'members.org_id')
    .select(['members.role', 'organizations.plan'])
    .where('members.org_id', '=', org_id)
    .where('members.user_id', '=', user_id)
  if (key_id === null) return (await membership.executeTakeFirst()) ?? null
  const byKey = membership
    .innerJoin('api_keys', (join) =>
      join.onRef('api_keys.org_id', '=', 'members.org_id').onRef('api_keys.user_id', '=', 'members.user_id'),
    )
    .where('api_keys.id', '=', key_id)
    .where('api_keys.revoked_at', 'is', null)
  return (await byKey.executeTakeFirst()) ?? null
}
