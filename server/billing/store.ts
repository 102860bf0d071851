import { sql } from 'kysely'
import type { Db, Tx } from '../platform/db.ts'
import { comparisonOf, type Position } from '../platform/list.ts'

export type AccountRow = { org_id: string; balance: bigint; held: bigint; running: number }

export type LedgerEntryRow = {
  id: string
  org_id: string
  kind: 'grant' | 'charge'
  /** Positive adds to the balance. */
  amount: bigint
  job_id: string | null
  user_id: string | null
  key_id: string | null
  request_id: string | null
  model: string | null
  seconds: number | null
  note: string | null
  created_at: Date
}

type HoldRow = {
  job_id: string
  org_id: string
  amount: bigint
  state: 'placed' | 'captured' | 'released'
  placed_at: Date
  settled_at: Date | null
}

declare module '../platform/db.ts' {
  interface Database {
    accounts: AccountRow
    holds: HoldRow
    ledger_entries: LedgerEntryRow
  }
}

/** Makes the account of a new organization, empty. */
export async function insertAccount(tx: Db, org_id: string): Promise<void> {
  await tx.insertInto('accounts').values({ org_id, balance: 0n, held: 0n, running: 0 }).execute()
}

/** Null when the organization has none, which cannot happen through the service. */
export async function findAccount(db: Db, org_id: string): Promise<AccountRow | null> {
  return (await db.selectFrom('accounts').selectAll().where('org_id', '=', org_id).executeTakeFirst()) ?? null
}

/** The account, with its row locked until the transaction ends. */
export async function lockAccount(tx: Tx, org_id: string): Promise<AccountRow | null> {
  const found = await tx.selectFrom('accounts').selectAll().where('org_id', '=', org_id).forUpdate().executeTakeFirst()
  return found ?? null
}

/** One conditional update: true when balance − held covers `amount` and a slot was free, both taken at once. */
export async function takeHold(tx: Db, hold: { org_id: string; amount: bigint; running_max: number }): Promise<boolean> {
  const result = await sql`
    update accounts set held = held + ${hold.amount}, running = running + 1
    where org_id = ${hold.org_id} and balance - held >= ${hold.amount} and running < ${hold.running_max}`.execute(tx)
  return result.numAffectedRows === 1n
}

export async function insertHold(
  tx: Db,
  hold: { job_id: string; org_id: string; amount: bigint; placed_at: Date },
): Promise<void> {
  await tx.insertInto('holds').values({ ...hold, state: 'placed', settled_at: null }).execute()
}

/** Ends a placed hold. Null when it was not placed any more: somebody else settled it. */
export async function settleHold(
  tx: Db,
  settlement: { job_id: string; state: 'captured' | 'released'; now: Date },
): Promise<{ org_id: string; amount: bigint } | null> {
  const { job_id, state, now } = settlement
  const row = await tx
    .updateTable('holds')
    .set({ state, settled_at: now })
    .where('job_id', '=', job_id)
    .where('state', '=', 'placed')
    .returning(['org_id', 'amount'])
    .executeTakeFirst()
  return row ?? null
}

/** Gives back what a hold had taken from the account, and takes `charge` from its balance. */
export async function returnHold(tx: Db, hold: { org_id: string; amount: bigint; charge: bigint }): Promise<void> {
  const { org_id, amount, charge } = hold
  await sql`
    update accounts set held = held - ${amount}, running = running - 1, balance = balance - ${charge}
    where org_id = ${org_id}`.execute(tx)
}

export async function addToBalance(tx: Db, change: { org_id: string; amount: bigint }): Promise<boolean> {
  const result = await sql`
    update accounts set balance = balance + ${change.amount} where org_id = ${change.org_id}`.execute(tx)
  return result.numAffectedRows === 1n
}

export async function insertEntry(tx: Db, entry: LedgerEntryRow): Promise<void> {
  await tx.insertInto('ledger_entries').values(entry).execute()
}

/** A page of the ledger, one row more than `limit` when there is more. */
export async function listEntries(db: Db, org_id: string, page: Position): Promise<LedgerEntryRow[]> {
  let query = db.selectFrom('ledger_entries').selectAll().where('org_id', '=', org_id)
  if (page.after !== null) query = query.where('id', comparisonOf(page.order), page.after)
  return query.orderBy('id', page.order).limit(page.limit + 1).execute()
}

export type UsageRow = { group: string | null; amount: bigint; count: bigint; seconds: bigint }

const GROUPS = {
  day: sql<string>`to_char(created_at at time zone 'UTC', 'YYYY-MM-DD')`,
  model: sql<string>`model`,
  key: sql<string>`key_id`,
  person: sql<string>`user_id`,
}

/** Sums of the organization's charges from `from` up to, not including, `to`. Amounts are what was charged, as positive units. */
export async function sumCharges(
  db: Db,
  org_id: string,
  query: { from: Date; to: Date; group_by: keyof typeof GROUPS },
): Promise<UsageRow[]> {
  const group = GROUPS[query.group_by]
  const result = await sql<UsageRow>`
    select ${group} as "group", (-sum(amount))::bigint as amount, count(*) as count, coalesce(sum(seconds), 0)::bigint as seconds
    from ledger_entries
    where org_id = ${org_id} and kind = 'charge' and created_at >= ${query.from} and created_at < ${query.to}
    group by 1 order by 1`.execute(db)
  return result.rows
}
