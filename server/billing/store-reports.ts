import { sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import { comparisonOf, type Position } from '../platform/http/list.ts'
import { firstId } from '../platform/ids.ts'
import type { LedgerEntryRow } from './store.ts'

/** How usage may be grouped: by one, or by two, the second within the first. */
export const GROUPINGS = [
  ...['day', 'model', 'key', 'person'],
  ...['day,model', 'day,key', 'day,person', 'model,key', 'model,person', 'key,person'],
] as const
export type Grouping = (typeof GROUPINGS)[number]

export type UsagePeriod = { from: Date; to: Date; group_by: Grouping }

/** Whose entries are read. */
export type LedgerScope = { org_id: string }

export type UsageRow = {
  group: string | null
  name: string | null
  subgroup: string | null
  subgroup_name: string | null
  amount: bigint
  count: bigint
  seconds: bigint
  input_tokens: bigint
  output_tokens: bigint
}

const GROUPS: Readonly<Record<string, ReturnType<typeof sql<string>>>> = {
  day: sql<string>`to_char(created_at at time zone 'UTC', 'YYYY-MM-DD')`,
  model: sql<string>`model`,
  key: sql<string>`key_id`,
  person: sql<string>`user_id`,
  org: sql<string>`org_id`,
}

/**
 * Sums of the organization's charges from `from` up to, not including, `to`, at most `limit` rows. Amounts are what was charged, as
 * positive units.
 */
export async function sumCharges(
  db: Db,
  asked: LedgerScope,
  query: UsagePeriod & { limit: number },
): Promise<UsageRow[]> {
  const [first, second] = query.group_by.split(',') as [string, string?]
  const result = await sql<UsageRow>`
    with sums as (
      select ${GROUPS[first]!} as "group", ${second ? GROUPS[second]! : sql`null::text`} as subgroup, (-sum(amount))::bigint as amount,
             count(*) as count, coalesce(sum(seconds), 0)::bigint as seconds,
             coalesce(sum(input_tokens), 0)::bigint as input_tokens, coalesce(sum(output_tokens), 0)::bigint as output_tokens
      from ledger_entries
      where org_id = ${asked.org_id} and kind = 'charge' and created_at >= ${query.from} and created_at < ${query.to}
      group by 1, 2 order by 1, 2 limit ${query.limit}
    )
    select sums.*, ${nameOf(first, 'sums.group', asked)} as name, ${nameOf(second, 'sums.subgroup', asked)} as subgroup_name
    from sums order by "group", subgroup`.execute(db)
  return result.rows
}

export type NamedEntry = LedgerEntryRow & { person: string | null; key: string | null }

/** A page of the ledger of a period, oldest first, with names. */
export async function listNamedEntries(
  db: Db,
  asked: LedgerScope,
  page: { from: Date; to: Date; after: string; limit: number },
): Promise<NamedEntry[]> {
  const result = await sql<NamedEntry>`
    with page as (
      select * from ledger_entries
      where org_id = ${asked.org_id} and id > ${page.after} and created_at >= ${page.from} and created_at < ${page.to}
      order by id limit ${page.limit}
    )
    select page.*, ${nameOf('person', 'page.user_id', asked)} as person, ${nameOf('key', 'page.key_id', asked)} as key
    from page order by id`.execute(db)
  return result.rows
}

/** A page of the ledger, one more than `position.limit`, with names. */
export async function listLedgerPage(db: Db, asked: LedgerScope, position: Position): Promise<NamedEntry[]> {
  const { after, limit } = position
  const order = sql.raw(position.order === 'asc' ? 'asc' : 'desc')
  const beyond = after === null ? sql`true` : sql`id ${sql.raw(comparisonOf(position.order))} ${after}`
  const result = await sql<NamedEntry>`
    with page as (
      select * from ledger_entries where org_id = ${asked.org_id} and ${beyond} order by id ${order} limit ${limit + 1}
    )
    select page.*, ${nameOf('person', 'page.user_id', asked)} as person, ${nameOf('key', 'page.key_id', asked)} as key
    from page order by id ${order}`.execute(db)
  return result.rows
}

/** The name of a key or a person, even one that has left the organization; null for other groups. */
function nameOf(kind: string | undefined, column: string, { org_id }: LedgerScope) {
  const id = sql.ref(column)
  if (kind === 'key') return sql`(select name from api_keys k where k.id = ${id} and k.org_id = ${org_id})`
  if (kind === 'person') return sql`(select name from users u where u.id = ${id})`
  return sql`null::text`
}

/** How the operator may group charges of all organizations. */
export const CHARGE_GROUPS = ['org', 'model', 'key', 'day'] as const
export type ChargeGroup = (typeof CHARGE_GROUPS)[number]

export type ChargeSums = Record<ChargeGroup, string | null> & {
  requests: bigint
  input_tokens: bigint
  cached_input_tokens: bigint
  output_tokens: bigint
  reasoning_tokens: bigint
  videos: bigint
  seconds: bigint
  amount: bigint
}

/**
 * For the operator: sums of what was charged, of all groups together and then of each, the highest amount first, one group more than
 * `limit` when there is more. Empty when nothing was charged. Reads every entry of the period once, by the time in its id.
 */
export async function sumChargesOfAnyOrg(
  db: Db,
  wanted: { by: readonly ChargeGroup[]; since: Date; until: Date; org_id: string | null; limit: number },
): Promise<ChargeSums[]> {
  const { by, since, until, org_id, limit } = wanted
  const columns = CHARGE_GROUPS.map((group) => (by.includes(group) ? GROUPS[group]! : sql`null::text`))
  const [org, model, key, day] = columns
  const of_org = org_id === null ? sql`true` : sql`org_id = ${org_id}`
  const { rows } = await sql<ChargeSums>`
    with charges as (
      select ${org} as org, ${model} as model, ${key} as key, ${day} as day,
             job_id, amount, seconds, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens
      from ledger_entries
      where kind = 'charge' and id >= ${firstId('entry', since)} and id < ${firstId('entry', until)} and ${of_org}
    )
    select org, model, key, day, count(*) filter (where job_id is null) as requests, count(job_id) as videos,
           coalesce(sum(input_tokens), 0)::bigint as input_tokens, coalesce(sum(cached_input_tokens), 0)::bigint as cached_input_tokens,
           coalesce(sum(output_tokens), 0)::bigint as output_tokens, coalesce(sum(reasoning_tokens), 0)::bigint as reasoning_tokens,
           coalesce(sum(seconds), 0)::bigint as seconds, (-sum(amount))::bigint as amount
    from charges group by grouping sets ((org, model, key, day), ()) having count(*) > 0
    order by grouping(org) desc, amount desc, org, model, key, day limit ${limit + 2}`.execute(db)
  return rows
}
