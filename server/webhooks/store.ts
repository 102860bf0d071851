import { sql } from 'kysely'
import type { Db, Tx } from '../platform/db/db.ts'
import { comparisonOf, type Position } from '../platform/http/list.ts'

/** By a person, because it answered 410, or because it failed for days. */
export type DisabledReason = 'owner' | 'gone' | 'failing'

/** Where events are sent. What it listens to is in the subscription of the same id. */
export type EndpointRow = {
  id: string
  org_id: string
  name: string
  url: string
  /** Encrypted, as `secrets.ts` has it. */
  secret: string
  secret_hint: string
  previous_secret: string | null
  /** Until when the previous secret signs too. */
  previous_secret_until: Date | null
  created_at: Date
  updated_at: Date
  /** Null while it is enabled. */
  disabled_reason: DisabledReason | null
  /** The first attempt that failed since the last one that succeeded. */
  failing_since: Date | null
}

declare module '../platform/db/db.ts' {
  interface Database {
    webhook_endpoints: EndpointRow
  }
}

export async function insertEndpoint(tx: Tx, row: EndpointRow): Promise<void> {
  await tx.insertInto('webhook_endpoints').values(row).execute()
}

export async function countEndpoints(tx: Tx, org_id: string): Promise<number> {
  const count = sql<bigint>`count(*)`.as('n')
  const row = await tx.selectFrom('webhook_endpoints').select(count).where('org_id', '=', org_id).executeTakeFirst()
  return Number(row!.n)
}

/** One more than `position.limit`. */
export async function listEndpoints(db: Db, org_id: string, position: Position): Promise<EndpointRow[]> {
  let query = db.selectFrom('webhook_endpoints').selectAll().where('org_id', '=', org_id)
  if (position.after !== null) query = query.where('id', comparisonOf(position.order), position.after)
  return query
    .orderBy('id', position.order)
    .limit(position.limit + 1)
    .execute()
}

export async function findEndpoint(db: Db, org_id: string, id: string): Promise<EndpointRow | null> {
  const query = db.selectFrom('webhook_endpoints').selectAll().where('org_id', '=', org_id).where('id', '=', id)
  return (await query.executeTakeFirst()) ?? null
}

/** The endpoint, with its row locked until the transaction ends. */
export async function lockEndpoint(tx: Tx, org_id: string, id: string): Promise<EndpointRow | null> {
  const query = tx.selectFrom('webhook_endpoints').selectAll().where('org_id', '=', org_id).where('id', '=', id)
  return (await query.forUpdate().executeTakeFirst()) ?? null
}

export async function updateEndpoint(
  tx: Tx,
  id: string,
  set: Partial<Omit<EndpointRow, 'id' | 'org_id'>>,
): Promise<void> {
  await tx.updateTable('webhook_endpoints').set(set).where('id', '=', id).execute()
}

/**
 * Records which endpoints took an event at `now` and which did not, and disables those that have gone and those that have failed since
 * `failing_before` or earlier. Returns the ones disabled here.
 */
export async function noteAttempts(
  tx: Tx,
  noted: {
    succeeded: readonly string[]
    failed: readonly string[]
    gone: readonly string[]
    now: Date
    failing_before: Date
  },
): Promise<Array<Pick<EndpointRow, 'id' | 'org_id'> & { disabled_reason: DisabledReason }>> {
  const { succeeded, failed, gone, now, failing_before } = noted
  await sql`
    update webhook_endpoints set failing_since = null
    where id = any(${succeeded}::text[]) and failing_since is not null`.execute(tx)
  if (failed.length === 0) return []
  const { rows } = await sql<Pick<EndpointRow, 'id' | 'org_id'> & { disabled_reason: DisabledReason }>`
    with noted as (
      select id from webhook_endpoints where id = any(${failed}::text[]) order by id for update
    )
    update webhook_endpoints e set
      failing_since = coalesce(e.failing_since, ${now}),
      disabled_reason = case when e.id = any(${gone}::text[]) then 'gone'
                             when e.failing_since <= ${failing_before} then 'failing' end,
      updated_at = case when e.id = any(${gone}::text[]) or e.failing_since <= ${failing_before} then ${now} else e.updated_at end
    from noted where e.id = noted.id and e.disabled_reason is null
    returning e.id, e.org_id, e.disabled_reason`.execute(tx)
  return rows.filter(({ disabled_reason }) => disabled_reason !== null)
}

/** Those of the endpoints that are disabled. */
export async function findDisabled(tx: Tx, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await tx
    .selectFrom('webhook_endpoints')
    .select('id')
    .where('id', 'in', ids)
    .where('disabled_reason', 'is not', null)
    .execute()
  return rows.map(({ id }) => id)
}

/** Deletes an endpoint whose row is locked. */
export async function deleteEndpoint(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('webhook_endpoints').where('id', '=', id).execute()
}

/** For the worker, which acts for no caller. */
export async function findEndpointOfAnyOrg(db: Db, id: string): Promise<EndpointRow | null> {
  return (await db.selectFrom('webhook_endpoints').selectAll().where('id', '=', id).executeTakeFirst()) ?? null
}

type Sealed = Pick<EndpointRow, 'id' | 'secret' | 'previous_secret'>

/** The encrypted secrets of up to `limit` endpoints of all organizations, after the endpoint `after`. */
export async function listSealed(db: Db, after: string, limit: number): Promise<Sealed[]> {
  const query = db.selectFrom('webhook_endpoints').select(['id', 'secret', 'previous_secret']).where('id', '>', after)
  return query.orderBy('id').limit(limit).execute()
}

/** Replaces encrypted secrets unless they were changed in the meantime. */
export async function replaceSealed(db: Db, was: Sealed, now: Omit<Sealed, 'id'>): Promise<void> {
  await db
    .updateTable('webhook_endpoints')
    .set(now)
    .where('id', '=', was.id)
    .where('secret', '=', was.secret)
    .where('previous_secret', 'is not distinct from', was.previous_secret)
    .execute()
}
