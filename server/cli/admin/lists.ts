import { findAccounts } from '../../billing/store.ts'
import { listKeysOfAnybody, listOrganizations, listPeople } from '../../identity/people/store-lists.ts'
import { formatMoney } from '../../platform/money.ts'
import { UsageError } from '../flags.ts'
import { type Admin, command, type Report, requireOrganization } from './command.ts'

const LIMIT = { value: '<n>', help: 'How many, newest first; 50 by default, at most 1000' } as const
export const FILTERS = { org: { value: '<id or name>', help: 'Only of this organization' }, limit: LIMIT } as const

export const orgList = command({
  records: null,
  summary: 'list organizations with plan, members and balance',
  flags: { limit: LIMIT },
  async run({ db }, given) {
    const limit = readLimit(given.limit)
    const found = await listOrganizations(db, { limit })
    const accounts = new Map(
      (
        await findAccounts(
          db,
          found.map(({ id }) => id),
        )
      ).map((each) => [each.org_id, each]),
    )
    const rows = found.map(({ id, name, plan, members, created_at }) => {
      const { balance = 0n, held = 0n } = accounts.get(id) ?? {}
      return { id, name, plan, members, balance: formatMoney(balance), held: formatMoney(held), created_at }
    })
    return listed(rows, limit)
  },
})

export const userList = command({
  records: null,
  summary: 'list people and the organizations they are in',
  flags: FILTERS,
  async run({ db }, given) {
    const wanted = await readFilters({ db }, given)
    return listed(await listPeople(db, wanted), wanted.limit)
  },
})

export const keyList = command({
  records: null,
  summary: 'list API keys, revoked ones too, without the keys themselves',
  flags: FILTERS,
  async run({ db }, given) {
    const wanted = await readFilters({ db }, given)
    return listed(await listKeysOfAnybody(db, wanted), wanted.limit)
  },
})

export async function readFilters(admin: Pick<Admin, 'db'>, given: { org?: string; limit?: string }) {
  const limit = readLimit(given.limit)
  const org_id = given.org === undefined ? null : (await requireOrganization(admin.db, given.org)).id
  return { org_id, limit }
}

function readLimit(text = '50'): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > 1000) throw new UsageError('--limit is not a whole number from 1 to 1000')
  return limit
}

type Row = Record<string, string | number | boolean | Date | null>

/** `found` may hold one more than `limit`, which says that there is more. */
export function listed(found: readonly Row[], limit: number): Report {
  const data = found.slice(0, limit)
  const has_more = found.length > limit
  const names = Object.keys(data[0] ?? {})
  const table = data.map((row) => names.map((name) => cell(row[name])))
  const rows: string[][] = data.length === 0 ? [['none']] : [names, ...table]
  if (has_more) rows.push([`… and more: --limit, at most 1000`])
  return { json: { object: 'list', data, has_more }, rows }
}

/** Times to the second in UTC; a dash for what is not there. */
function cell(value: Row[string] | undefined): string {
  if (value === null || value === undefined || value === '') return '-'
  if (value instanceof Date) return `${value.toISOString().slice(0, 19)}Z`
  return String(value)
}
