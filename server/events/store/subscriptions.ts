import type { Db, Tx } from '../../platform/db/db.ts'
import type { EventType } from '../event.ts'

/** Who listens to which events of an organization. While it is not `enabled`, its deliveries are recorded as `skipped`. */
export type SubscriptionRow = {
  id: string
  org_id: string
  event_types: EventType[]
  /** `balance.low` is recorded when the balance falls to this or below; in units of 10⁻⁸. */
  low_balance: bigint
  enabled: boolean
  /** Since when it has listened to these types. */
  since: Date
}

declare module '../../platform/db/db.ts' {
  interface Database {
    event_subscriptions: SubscriptionRow
  }
}

export async function insertSubscription(tx: Tx, row: SubscriptionRow): Promise<void> {
  await tx.insertInto('event_subscriptions').values(row).execute()
}

/** Those of `ids` that there are, by id. */
export async function findSubscriptions(db: Db, ids: readonly string[]): Promise<Map<string, SubscriptionRow>> {
  if (ids.length === 0) return new Map()
  const rows = await db.selectFrom('event_subscriptions').selectAll().where('id', 'in', ids).execute()
  return new Map(rows.map((row) => [row.id, row]))
}

/** A subscription that nobody turns on or off, or deletes, until the transaction ends. */
export async function lockSubscription(tx: Tx, id: string): Promise<SubscriptionRow | null> {
  const query = tx.selectFrom('event_subscriptions').selectAll().where('id', '=', id)
  return (await query.forShare().executeTakeFirst()) ?? null
}

export async function updateSubscription(
  tx: Tx,
  id: string,
  set: Partial<Omit<SubscriptionRow, 'id' | 'org_id'>>,
): Promise<void> {
  if (Object.keys(set).length === 0) return
  await tx.updateTable('event_subscriptions').set(set).where('id', '=', id).execute()
}

export async function deleteSubscription(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('event_subscriptions').where('id', '=', id).execute()
}
