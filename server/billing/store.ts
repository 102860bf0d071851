import { type Generated, sql } from 'kysely'
import type { Db, Tx } from '../platform/db/db.ts'
import { balanceEvents } from '../webhooks/store/events.ts'

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
  input_tokens: number | null
  cached_input_tokens: number | null
  output_tokens: number | null
  reasoning_tokens: number | null
  note: string | null
  created_at: Date
}

type NewEntry = Omit<LedgerEntryRow, TokenColumn>
type TokenColumn = 'input_tokens' | 'cached_input_tokens' | 'output_tokens' | 'reasoning_tokens'

type HoldRow = {
  job_id: string
  org_id: string
  amount: bigint
  state: 'placed' | 'captured' | 'released'
  placed_at: Date
  settled_at: Date | null
}

declare module '../platform/db/db.ts' {
  interface Database {
    accounts: AccountRow
    holds: HoldRow
    ledger_entries: NewEntry & { [Name in TokenColumn]: Generated<number | null> }
  }
}

/** Creates the account of a new organization, with a balance of zero. */
export async function insertAccount(tx: Db, org_id: string): Promise<void> {
  await tx.insertInto('accounts').values({ org_id, balance: 0n, held: 0n, running: 0 }).execute()
}

/** The accounts of those organizations that have one, in no order. */
export async function findAccounts(db: Db, org_ids: readonly string[]): Promise<AccountRow[]> {
  if (org_ids.length === 0) return []
  return db.selectFrom('accounts').selectAll().where('org_id', 'in', org_ids).execute()
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

/** One conditional update: true when balance − held covers `amount` and `count` slots were free, all taken at once. */
export async function takeHold(
  tx: Db,
  hold: { org_id: string; amount: bigint; running_max: number; count: number },
): Promise<boolean> {
  const { org_id, amount, running_max, count } = hold
  const result = await sql`-- prepared as take_hold
    update accounts set held = held + ${amount}, running = running + ${count}::int
    where org_id = ${org_id} and balance - held >= ${amount} and running + ${count}::int <= ${running_max}`.execute(tx)
  return result.numAffectedRows === 1n
}

export async function insertHolds(
  tx: Db,
  holds: ReadonlyArray<{ job_id: string; org_id: string; amount: bigint; now: Date }>,
): Promise<void> {
  const placed = { state: 'placed', settled_at: null } as const
  const rows = holds.map(({ job_id, org_id, amount, now }) => ({ job_id, org_id, amount, placed_at: now, ...placed }))
  await tx.insertInto('holds').values(rows).execute()
}

/**
 * Ends placed holds, those of `charges` with their charge, and releases amounts and slots in the accounts. One statement, because
 * the rows of the accounts stay locked from their update to the commit; they are locked in order, so that two processes cannot deadlock.
 * Returns the jobs whose hold was settled here: a missing one was settled elsewhere.
 */
export async function settleHoldsOf(
  tx: Db,
  settle: {
    charges: ReadonlyArray<
      Pick<LedgerEntryRow, 'id' | 'org_id' | 'user_id' | 'key_id' | 'request_id' | 'model' | 'seconds'> & {
        job_id: string
      }
    >
    released: readonly string[]
    now: Date
  },
): Promise<Set<string>> {
  const { charges, released, now } = settle
  const job_ids = [...charges.map(({ job_id }) => job_id), ...released]
  const organizations = new Set(charges.map(({ org_id }) => org_id)).size
  const result = await sql<{ job_id: string }>`-- prepared as settle_holds
    with charged as (
      select * from jsonb_to_recordset(${JSON.stringify(charges)}::jsonb)
        as c (id text, job_id text, user_id text, key_id text, request_id text, model text, seconds int)
    ), settled as (
      update holds h set state = ended.state, settled_at = ${now}
      from (select job_id, 'captured' as state from charged union all
            select job_id, 'released' from unnest(${released as string[]}::text[]) as r (job_id)) as ended
      where h.job_id = any(${job_ids}::text[]) and h.job_id = ended.job_id and h.state = 'placed' returning h.job_id, h.org_id, h.amount, h.state
    ), due as (
      select org_id, sum(amount)::bigint as held, count(*)::int as running,
             coalesce(sum(amount) filter (where state = 'captured'), 0)::bigint as charged
      from settled group by org_id
    ), accounts_in_order as (
      select org_id from accounts where org_id in (select org_id from due) order by org_id for update
    ), paid as (
      update accounts a set held = a.held - due.held, running = a.running - due.running, balance = a.balance - due.charged
      from due join accounts_in_order using (org_id) where a.org_id = due.org_id
      returning a.org_id, a.balance + due.charged as before, a.balance as after
    ), ${balanceEvents('paid', { organizations, now })}, entered as (
      insert into ledger_entries (id, org_id, kind, amount, job_id, user_id, key_id, request_id, model, seconds, created_at)
      select c.id, s.org_id, 'charge', -s.amount, c.job_id, c.user_id, c.key_id, c.request_id, c.model, c.seconds, ${now}
      from settled s join charged c using (job_id)
    )
    select job_id from settled`.execute(tx)
  return new Set(result.rows.map(({ job_id }) => job_id))
}

/** False when there is no such account. */
export async function addToBalance(tx: Tx, change: { org_id: string; amount: bigint; now: Date }): Promise<boolean> {
  const { org_id, amount, now } = change
  const result = await sql`
    with changed as (
      update accounts set balance = balance + ${amount} where org_id = ${org_id}
      returning org_id, balance - ${amount}::bigint as before, balance as after
    ), ${balanceEvents('changed', { organizations: 1, now })}
    select org_id from changed`.execute(tx)
  return result.rows.length === 1
}

/** Of a job of any organization, for the operator. */
export async function findHold(db: Db, job_id: string): Promise<HoldRow | null> {
  return (await db.selectFrom('holds').selectAll().where('job_id', '=', job_id).executeTakeFirst()) ?? null
}

/** The charge for a job of any organization, for the operator. */
export async function findChargeOfJob(db: Db, job_id: string) {
  const query = db.selectFrom('ledger_entries').select(['id', 'amount', 'created_at']).where('job_id', '=', job_id)
  return (await query.where('kind', '=', 'charge').executeTakeFirst()) ?? null
}

export async function insertEntry(tx: Db, entry: NewEntry): Promise<void> {
  await tx.insertInto('ledger_entries').values(entry).execute()
}

type NewUsage = {
  id: string
  org_id: string
  user_id: string
  key_id: string | null
  request_id: string
  model: string
} & {
  [Name in TokenColumn]: number
} & { amount: bigint; now: Date }

/** For jobs that were deleted. Captured holds stay beside their charges. */
export async function deleteReleasedHolds(tx: Tx, job_ids: readonly string[]): Promise<void> {
  await tx.deleteFrom('holds').where('job_id', 'in', job_ids).where('state', '=', 'released').execute()
}

/**
 * Writes usages with their charges and takes them from the balances, in one statement; returns the balances as they now are. A request
 * that was charged before is left as it is. Accounts are locked in order, so that two processes cannot deadlock.
 */
export async function chargeUsages(
  db: Db,
  usages: readonly NewUsage[],
): Promise<Array<{ org_id: string; balance: bigint }>> {
  const column = (name: keyof NewUsage) => arrayText(usages.map((usage) => usage[name]))
  const org_ids = [...new Set(usages.map(({ org_id }) => org_id))]
  const events = balanceEvents('paid', { organizations: org_ids.length, now: usages[0]?.now ?? new Date() })
  const result = await sql<{ org_id: string; balance: bigint }>`-- prepared as charge_usages
    with accounts_in_order as (
      select org_id from accounts where org_id = any(${arrayText(org_ids)}::text[]) order by org_id for update
    ), written as (
      insert into ledger_entries (id, org_id, kind, amount, user_id, key_id, request_id, model,
                                  input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, created_at)
      select id, org_id, 'charge', -amount, user_id, key_id, request_id, model, input, cached, output, reasoning, created_at
      from unnest(${column('id')}::text[], ${column('org_id')}::text[], ${column('amount')}::bigint[], ${column('user_id')}::text[],
                  ${column('key_id')}::text[], ${column('request_id')}::text[], ${column('model')}::text[],
                  ${column('input_tokens')}::int[], ${column('cached_input_tokens')}::int[], ${column('output_tokens')}::int[],
                  ${column('reasoning_tokens')}::int[], ${column('now')}::timestamptz[])
        as u (id, org_id, amount, user_id, key_id, request_id, model, input, cached, output, reasoning, created_at)
      on conflict (request_id) where kind = 'charge' and job_id is null do nothing
      returning org_id, amount
    ), paid as (
      update accounts a set balance = a.balance + due.amount
      from (select org_id, sum(amount)::bigint as amount from written group by org_id) due join accounts_in_order using (org_id)
      where a.org_id = due.org_id
      returning a.org_id, a.balance - due.amount as before, a.balance as after
    ), ${events}
    select org_id, after as balance from paid`.execute(db)
  return result.rows
}

/** An array as PostgreSQL reads it from text; the driver's own takes several times as long for each element. */
function arrayText(values: ReadonlyArray<string | number | bigint | Date | null>): string {
  return `{${values.map(elementText).join(',')}}`
}

function elementText(value: string | number | bigint | Date | null): string {
  if (value === null) return 'NULL'
  if (value instanceof Date) return `"${value.toISOString()}"`
  if (typeof value !== 'string') return String(value)
  return `"${/["\\]/.test(value) ? value.replace(/["\\]/g, '\\$&') : value}"`
}

/** The tokens one request was charged for. Null when nothing was charged. */
export async function findUsage(
  db: Db,
  { org_id, request_id }: { org_id: string; request_id: string },
): Promise<Record<TokenColumn, number> | null> {
  const row = await db
    .selectFrom('ledger_entries')
    .select(['input_tokens', 'cached_input_tokens', 'output_tokens', 'reasoning_tokens'])
    .where('org_id', '=', org_id)
    .where('request_id', '=', request_id)
    .where('kind', '=', 'charge')
    .where('job_id', 'is', null)
    .executeTakeFirst()
  return (row as Record<TokenColumn, number> | undefined) ?? null
}
