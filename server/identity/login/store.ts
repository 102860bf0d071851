import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/db/db.ts'
import { ApiError } from '../../platform/errors.ts'
import { comparisonOf, type Position } from '../../platform/http/list.ts'
import type { Role } from '../caller/principal.ts'

export type SessionRow = {
  id: string
  /** SHA-256 of what the cookie carries, as hex. */
  token: string
  user_id: string
  org_id: string | null
  ip_address: string | null
  user_agent: string | null
  created_at: Date
  /** The last use, to the minute. */
  updated_at: Date
  expires_at: Date
}

type LoginAttemptRow = { account_hash: string; address_hash: string; at: Date }

declare module '../../platform/db/db.ts' {
  interface Database {
    sessions: SessionRow
    login_attempts: LoginAttemptRow
  }
}

export type SessionOwner = {
  id: string
  org_id: string
  user_id: string
  role: Role
  plan: string
  updated_at: Date
  expires_at: Date
}

/** The session with this token hash, of somebody who is still a member of the organization it is in. */
export async function findSessionOwner(db: Db, token: string): Promise<SessionOwner | null> {
  return (await sessionOwners(db).where('sessions.token', '=', token).executeTakeFirst()) ?? null
}

/** As above, by id: those of `ids` that are still there. */
export async function findSessionOwners(db: Db, ids: readonly string[]): Promise<SessionOwner[]> {
  return sessionOwners(db).where('sessions.id', 'in', ids).execute()
}

function sessionOwners(db: Db) {
  return db
    .selectFrom('sessions')
    .innerJoin('members', (join) =>
      join.onRef('members.org_id', '=', 'sessions.org_id').onRef('members.user_id', '=', 'sessions.user_id'),
    )
    .innerJoin('organizations', 'organizations.id', 'sessions.org_id')
    .select([
      'sessions.id',
      'members.org_id',
      'sessions.user_id',
      'members.role',
      'organizations.plan',
      'sessions.updated_at',
      'sessions.expires_at',
    ])
}

/** Keeps a session until the transaction ends. Throws ApiError `missing_api_key` when it has ended. */
export async function lockSession(tx: Tx, id: string): Promise<void> {
  const { rows } = await sql`select from sessions where id = ${id} for key share`.execute(tx)
  if (rows.length === 0) throw new ApiError('missing_api_key', 'Your session has ended. Sign in to the console again.')
}

/** Also one that is in no organization. */
export async function findSession(
  db: Db,
  token: string,
): Promise<Pick<SessionRow, 'id' | 'user_id' | 'org_id'> | null> {
  const found = await db
    .selectFrom('sessions')
    .select(['id', 'user_id', 'org_id'])
    .where('token', '=', token)
    .executeTakeFirst()
  return found ?? null
}

export async function findSessionEnd(db: Db, id: string): Promise<Date | null> {
  const found = await db.selectFrom('sessions').select('expires_at').where('id', '=', id).executeTakeFirst()
  return found?.expires_at ?? null
}

export async function noteSessionUse(db: Db, use: { id: string; now: Date }): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ updated_at: use.now })
    .where('id', '=', use.id)
    .where('updated_at', '<', use.now)
    .execute()
}

/** False when the person is not a member of that organization. */
export async function switchSession(db: Db, change: { id: string; user_id: string; org_id: string }): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('sessions')
    .set({ org_id: change.org_id })
    .where('id', '=', change.id)
    .where('user_id', '=', change.user_id)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('members')
          .select('members.id')
          .where('members.org_id', '=', change.org_id)
          .where('members.user_id', '=', change.user_id),
      ),
    )
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function deleteSession(db: Db, token: string): Promise<void> {
  await db.deleteFrom('sessions').where('token', '=', token).execute()
}

/** Sessions of a person that still go on, one more than `position.limit`. */
export async function listSessions(
  db: Db,
  user_id: string,
  position: Position & { now: Date; idle_since: Date },
): Promise<Array<Omit<SessionRow, 'token'>>> {
  let query = db
    .selectFrom('sessions')
    .select(['id', 'user_id', 'org_id', 'ip_address', 'user_agent', 'created_at', 'updated_at', 'expires_at'])
    .where('user_id', '=', user_id)
    .where('expires_at', '>', position.now)
    .where('updated_at', '>', position.idle_since)
  if (position.after !== null) query = query.where('id', comparisonOf(position.order), position.after)
  return query
    .orderBy('id', position.order)
    .limit(position.limit + 1)
    .execute()
}

/** False when it is not there, or another person's. */
export async function deleteOwnSession(db: Db, which: { id: string; user_id: string }): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('sessions')
    .where('id', '=', which.id)
    .where('user_id', '=', which.user_id)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Every session of a person, but the one named by `keep_id`. Returns how many there were. */
export async function deleteSessionsOf(db: Db, user_id: string, keep_id: string | null = null): Promise<number> {
  let query = db.deleteFrom('sessions').where('user_id', '=', user_id)
  if (keep_id !== null) query = query.where('id', '<>', keep_id)
  return Number((await query.executeTakeFirst()).numDeletedRows)
}

/** Sessions that can no longer be used. */
export async function deleteEndedSessions(db: Db, before: { now: Date; idle_since: Date }): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('sessions')
    .where((where) => where.or([where('expires_at', '<=', before.now), where('updated_at', '<=', before.idle_since)]))
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Attempts of one account, or from one address, are counted one after another, each seeing those before it. */
export async function lockAttempts(tx: Tx, hashes: readonly string[]): Promise<void> {
  for (const hash of [...hashes].sort())
    await sql`select pg_advisory_xact_lock(hashtextextended(${`attempts ${hash}`}, 0))`.execute(tx)
}

/** Returns the row's id. */
export async function insertAttempt(db: Db, row: LoginAttemptRow): Promise<bigint> {
  const { rows } = await sql<{ id: bigint }>`
    insert into login_attempts (account_hash, address_hash, at)
    values (${row.account_hash}, ${row.address_hash}, ${row.at}) returning id`.execute(db)
  return rows[0]!.id
}

/** Time of the `nth` newest attempt since `since` but this one, of the account or of the address, whichever is later. */
export async function nthNewestAttempt(
  db: Db,
  own: { id: bigint; account_hashes: readonly string[]; address_hashes: readonly string[] },
  limit: { nth: number; since: Date },
): Promise<Date | null> {
  const nth = (column: 'account_hash' | 'address_hash', values: readonly string[]) => sql`
    (select at from login_attempts where ${sql.ref(column)} = any(${values}) and id <> ${own.id} and at > ${limit.since}
     order by at desc offset ${limit.nth - 1} limit 1)`
  const { rows } = await sql<{ at: Date | null }>`
    select greatest(${nth('account_hash', own.account_hashes)}, ${nth('address_hash', own.address_hashes)}) as at`.execute(
    db,
  )
  return rows[0]!.at
}

export async function deleteAttempt(db: Db, id: bigint): Promise<void> {
  await sql`delete from login_attempts where id = ${id}`.execute(db)
}

export async function deleteOldAttempts(db: Db, before: Date): Promise<void> {
  await db.deleteFrom('login_attempts').where('at', '<=', before).execute()
}
