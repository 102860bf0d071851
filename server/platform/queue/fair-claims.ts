import { type RawBuilder, sql } from 'kysely'
import { type Claimed, type ClaimRequest, type Claims, claimsOn, type QueueTable, takeRows } from './claims.ts'

/**
 * A queue whose owners take turns. `owner` names the column with the owner of a row, and the table has `org_id` and an index on the owner
 * and the due time of rows that are open and unclaimed. `owners` is a condition on `waiting.owner`: rows of others are not claimed.
 * `read` selects what is read of the claimed rows, `q`.
 */
export type FairQueueTable = QueueTable & { owner: string; owners?: RawBuilder<unknown>; read?: RawBuilder<unknown> }

/** Most rows that one process works on at a time: of one owner, of one organization, and of all. */
export type Shares = { owner: number; organization: number; all: number }

type Shared = Claimed & { org_id: string }

/**
 * Claims on due rows of a queue by shares, for one consumer that takes `most.all` rows at a time. No owner and no organization has more under
 * way than its share, and of two organizations the one with less under way comes first. An organization with something under way gets
 * another turn only where as many stay free as it then has, and a claim leaves half of the free turns: however many are slow, turns remain
 * for those that have few. The owners with something to claim are found by their first index entry each, however much waits there. Only
 * what is taken is locked: other processes skip locked rows.
 */
export function fairClaims<Row extends Shared>(queue: FairQueueTable, most: Shares): Claims<Row> {
  const owners = new Map<string, number>()
  const organizations = new Map<string, number>()
  const { read = sql`select * from q` } = queue
  const ownerOf = (row: Row) => (row as Record<string, unknown>)[queue.owner] as string
  const all = () => [...organizations.values()].reduce((sum, n) => sum + n, 0)
  return {
    ...claimsOn<Row>(queue),
    async claim(db, wanted) {
      const rows = fairRows(queue, wanted, { owners, organizations, most, free: most.all - all() })
      const result = await sql<Row>`with q as (${takeRows(queue, wanted.claim_id, rows)}) ${read}`.execute(db)
      return result.rows
    },
    under_way: {
      begin(row) {
        add(owners, ownerOf(row), 1)
        add(organizations, row.org_id, 1)
      },
      end(row) {
        const full = owners.get(ownerOf(row))! >= most.owner || organizations.get(row.org_id)! >= most.organization
        const may_wait = full || all() >= most.all / 2
        add(owners, ownerOf(row), -1)
        add(organizations, row.org_id, -1)
        return may_wait
      },
    },
  }
}

function add(counts: Map<string, number>, id: string, by: 1 | -1): void {
  const count = (counts.get(id) ?? 0) + by
  if (count === 0) counts.delete(id)
  else counts.set(id, count)
}

type Counts = ReadonlyMap<string, number>

/** Of each owner more rows are read than it would get if all got as many: some may be locked, and some owners be at their share. */
const SPARE = 4

/** The ids of the rows to take, locked. `free`: how many of all turns are. */
function fairRows(
  { table: name, due: column, open, owner: owner_column, owners: which = sql`true` }: FairQueueTable,
  { now, limit, only = sql`true` }: ClaimRequest,
  { owners, organizations, most, free }: { owners: Counts; organizations: Counts; most: Shares; free: number },
): RawBuilder<unknown> {
  const table = sql.table(name)
  const owner = sql.ref(owner_column)
  const due = sql.ref(column)
  const count = Math.min(limit, Math.max(1, Math.floor(free / 2)))
  return sql`
    with recursive waiting (owner, due_at) as (
      (select ${owner}, ${due} from ${table} where ${open} and claim_id is null order by ${owner}, ${due} limit 1)
      union all
      select following.* from waiting
      cross join lateral (
        select ${owner}, ${due} from ${table} where ${open} and claim_id is null and ${owner} > waiting.owner
        order by ${owner}, ${due} limit 1) as following
    ), served as (
      select waiting.*, least(${most.owner}::int - coalesce(taken.n, 0), ${SPARE} + 2 * ${count}::int / count(*) over ()) as most
      from waiting left join ${listed(owners)} as taken (id, n) on taken.id = waiting.owner
      where due_at <= ${now} and coalesce(taken.n, 0) < ${most.owner} and ${which}
    ), due as (
      select first.id, first.due_at, coalesce(busy.n, 0) as busy,
             coalesce(busy.n, 0) + row_number() over (partition by first.org_id order by first.due_at) as turn
      from served
      cross join lateral (
        select id, org_id, ${due} as due_at from ${table}
        where ${owner} = served.owner and ${open} and claim_id is null and ${due} between served.due_at and ${now} and ${only}
        order by ${due} limit served.most) as first
      left join ${listed(organizations)} as busy (id, n) on busy.id = first.org_id
    )
    select d.id from due join ${table} d on d.id = due.id
    where turn <= least(${most.organization}::int, greatest(1, (${free}::int + busy) / 2))
      and d.id = any(array(select id from due)) and ${open} and claim_id is null
    order by turn, due.due_at limit ${count} for update of d skip locked`
}

function listed(counts: Counts): RawBuilder<unknown> {
  return sql`unnest(${[...counts.keys()]}::text[], ${[...counts.values()]}::int[])`
}
