import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/db/db.ts'
import { comparisonOf, type Position } from '../../platform/http/list.ts'
import type { EventType } from '../event.ts'

/** By a person, because it answered 410, or because it failed for days. */
export type DisabledReason = 'owner' | 'gone' | 'failing'

/** Where an organization has its events sent, and which. While it is disabled, its deliveries are recorded as `skipped`. */
export type EndpointRow = {
  id: string
  org_id: string
  name: string
  url: string
  event_types: EventType[]
  /** `balance.low` is recorded when the balance falls to this or below; in units of 10⁻⁸. */
  low_balance: bigint
  /** Since when it has listened to these types. */
  listens_since: Date
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

declare module '../../platform/db/db.ts' {
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

/** Those of all organizations. */
export async function countEndpointsByState(db: Db): Promise<Record<'working' | 'failing' | 'disabled', number>> {
  const result = await sql<Record<'working' | 'failing' | 'disabled', number>>`
    select count(*) filter (where disabled_reason is null and failing_since is null)::int as working,
           count(*) filter (where disabled_reason is null and failing_since is not null)::int as failing,
           count(*) filter (where disabled_reason is not null)::int as disabled
    from webhook_endpoints`.execute(db)
  return result.rows[0]!
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

/** Those of any organization whose last attempts failed, enabled or disabled for it; the longest failing first. */
export async function listFailingEndpoints(db: Db, limit: number): Promise<EndpointRow[]> {
  return db
    .selectFrom('webhook_endpoints')
    .selectAll()
    .where((eb) => eb.or([eb('failing_since', 'is not', null), eb('disabled_reason', 'in', ['gone', 'failing'])]))
    .orderBy('failing_since')
    .orderBy('id')
    .limit(limit)
    .execute()
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

/** What came of an attempt at `url`. `gone`: it answered 410. */
export type AttemptOutcome = { id: string; url: string; outcome: 'succeeded' | 'failed' | 'gone' }

/**
 * Records which endpoints took an event at `now` and which did not, and disables those that have gone and those that have failed since
 * `failing_before` or earlier. What a former URL answered is left out. Locks the rows in the order of their ids, since groups of other
 * processes hold the same endpoints. Returns the ones disabled here.
 */
export async function recordAttempts(
  tx: Tx,
  { attempts, now, failing_before }: { attempts: readonly AttemptOutcome[]; now: Date; failing_before: Date },
): Promise<Array<Pick<EndpointRow, 'id' | 'org_id'> & { disabled_reason: DisabledReason }>> {
  if (attempts.length === 0) return []
  const column = (name: keyof AttemptOutcome) => attempts.map((attempt) => attempt[name])
  const { rows } = await sql<Pick<EndpointRow, 'id' | 'org_id'> & { disabled_reason: DisabledReason | null }>`
    with noted as (
      select id, url, bool_or(outcome = 'succeeded') as succeeded, bool_or(outcome <> 'succeeded') as failed, bool_or(outcome = 'gone') as gone
      from unnest(${column('id')}::text[], ${column('url')}::text[], ${column('outcome')}::text[]) as attempt (id, url, outcome)
      group by id, url
    ), locked as (
      select e.id, e.disabled_reason is null and noted.failed as failed, noted.gone,
             case when not noted.succeeded then e.failing_since end as since
      from webhook_endpoints e join noted on noted.id = e.id and noted.url = e.url
      where e.id = any(${column('id')}::text[]) and (e.failing_since is not null or e.disabled_reason is null and noted.failed)
      order by e.id for update of e
    ), changed as (
      select id, case when failed then coalesce(since, ${now}::timestamptz) else since end as failing_since,
             case when not failed then null when gone then 'gone' when since <= ${failing_before} then 'failing' end as disabled_for
      from locked
    )
    update webhook_endpoints e set
      failing_since = changed.failing_since, disabled_reason = coalesce(changed.disabled_for, e.disabled_reason),
      updated_at = case when changed.disabled_for is null then e.updated_at else ${now} end
    from changed
    where e.id = changed.id and (changed.disabled_for is not null or e.failing_since is distinct from changed.failing_since)
    returning e.id, e.org_id, changed.disabled_for as disabled_reason`.execute(tx)
  return rows.flatMap(({ disabled_reason, ...row }) => (disabled_reason === null ? [] : [{ ...row, disabled_reason }]))
}

/** The URLs of endpoints as they are now, by id. */
export async function findUrls(tx: Db, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await tx.selectFrom('webhook_endpoints').select(['id', 'url']).where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, url }) => [id, url]))
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

/** For the operator, who belongs to no organization: newest first, `failing` those that fail, the longest first. One more than `limit`. */
export async function listEndpointsOfAnyOrg(
  db: Db,
  { org_id, failing, limit }: { org_id: string | null; failing: boolean; limit: number },
) {
  const columns = ['id', 'org_id', 'name', 'url', 'created_at', 'disabled_reason', 'failing_since'] as const
  let query = db.selectFrom('webhook_endpoints').select(columns)
  if (org_id !== null) query = query.where('org_id', '=', org_id)
  query = failing
    ? query.where('failing_since', 'is not', null).orderBy('failing_since').orderBy('id')
    : query.orderBy('id', 'desc')
  return query.limit(limit + 1).execute()
}

/** For the consumer, which acts for no caller. */
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
