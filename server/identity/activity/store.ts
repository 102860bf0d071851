import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/db/db.ts'
import { comparisonOf, type Position } from '../../platform/http/list.ts'
import type { Action, Actor } from './action.ts'

export type ActivityRow = {
  id: string
  created_at: Date
  org_id: string | null
  actor: Actor
  action: Action
  target: string | null
  details: Record<string, string | number | readonly string[]>
}

/** An entry with what is known of its person today. */
export type NamedActivity = ActivityRow & { email: string | null; key_hint: string | null }

declare module '../../platform/db/db.ts' {
  interface Database {
    activity_entries: Omit<ActivityRow, 'actor' | 'details'> & { actor: string; details: string }
  }
}

export async function insertActivity(tx: Tx, { actor, details, ...row }: ActivityRow): Promise<void> {
  const json = { actor: JSON.stringify(actor), details: JSON.stringify(details) }
  await tx
    .insertInto('activity_entries')
    .values({ ...row, ...json })
    .execute()
}

/** How many entries of these actions an organization has since a time, up to `limit`. */
export async function countActivity(
  db: Db,
  which: { org_id: string; since: Date; actions: readonly Action[]; limit: number },
): Promise<number> {
  const { org_id, since, actions, limit } = which
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select created_at from activity_entries where org_id = ${org_id} and action = any(${actions as Action[]}::text[])
      order by id desc limit ${limit}) as newest
    where created_at > ${since}`.execute(db)
  return rows[0]!.count
}

/** Entries of one organization, one more than `position.limit`. */
export async function listActivity(db: Db, org_id: string, position: Position): Promise<NamedActivity[]> {
  const after =
    position.after === null ? sql`` : sql` and a.id ${sql.raw(comparisonOf(position.order))} ${position.after}`
  const found = await sql<NamedActivity>`${NAMED} where a.org_id = ${org_id}${after}
    order by a.id ${sql.raw(position.order)} limit ${position.limit + 1}`.execute(db)
  return found.rows
}

/** For the operator: entries of every organization and of the service, newest first, one more than `limit`. */
export async function listAllActivity(
  db: Db,
  which: { org_id: string | null; since: Date | null; limit: number },
): Promise<NamedActivity[]> {
  const found = await sql<NamedActivity>`${NAMED}
    where (${which.org_id}::text is null or a.org_id = ${which.org_id})
      and (${which.since}::timestamptz is null or a.created_at >= ${which.since})
    order by a.id desc limit ${which.limit + 1}`.execute(db)
  return found.rows
}

/** The newest of this action; null when there was none. */
export async function findLastActivity(db: Db, action: Action): Promise<NamedActivity | null> {
  const found = await sql<NamedActivity>`${NAMED} where a.action = ${action} order by a.id desc limit 1`.execute(db)
  return found.rows[0] ?? null
}

const NAMED = sql`
  select a.id, a.created_at, a.org_id, a.actor, a.action, a.target, a.details, u.email, k.hint as key_hint
  from activity_entries as a
  left join users as u on u.id = a.actor ->> 'user_id'
  left join api_keys as k on k.id = a.actor ->> 'key_id'`

/** Deletes up to `limit` entries. The trigger allows it to nothing else. */
export async function deleteActivityBefore(db: Db, before: Date, limit: number): Promise<number> {
  return db.transaction().execute(async (tx) => {
    await sql`set local kinora.retention = 'on'`.execute(tx)
    const oldest = tx
      .selectFrom('activity_entries')
      .select('id')
      .where('created_at', '<', before)
      .orderBy('id')
      .limit(limit)
    const deleted = await tx.deleteFrom('activity_entries').where('id', 'in', oldest).executeTakeFirst()
    return Number(deleted.numDeletedRows)
  })
}
