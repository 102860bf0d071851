import { type Endpoint, endpoint } from '../identity/endpoint.ts'
import { addSeconds } from '../platform/clock.ts'
import { ApiError } from '../platform/errors.ts'
import { pageOf, positionOf } from '../platform/list.ts'
import {
  BalanceView,
  balanceView,
  LEDGER_PAGE,
  LedgerList,
  LedgerQuery,
  ledgerEntryView,
  UsageQuery,
  UsageView,
  usageView,
} from './schema.ts'
import { findAccount, listEntries, sumCharges } from './store.ts'

const readBalance = endpoint({
  method: 'GET',
  path: '/console/balance',
  auth: 'session',
  summary: "The organization's balance, what is held for jobs in flight, and what is available",
  response: BalanceView,
  async handle(ctx, { principal }) {
    const account = await findAccount(ctx.db, principal.org_id)
    return balanceView(account ?? { org_id: principal.org_id, balance: 0n, held: 0n, running: 0 }, ctx.config.currency)
  },
})

const listLedger = endpoint({
  method: 'GET',
  path: '/console/ledger',
  auth: 'session',
  summary: 'Ledger entries, newest first',
  query: LedgerQuery,
  response: LedgerList,
  async handle(ctx, { principal, query }) {
    const position = positionOf('entry', query, LEDGER_PAGE)
    return pageOf(await listEntries(ctx.db, principal.org_id, position), position.limit, ledgerEntryView)
  },
})

const readUsage = endpoint({
  method: 'GET',
  path: '/console/usage',
  auth: 'session',
  summary: 'Sums of what was charged, by day, model, key or person',
  query: UsageQuery,
  response: UsageView,
  async handle(ctx, { principal, query }) {
    const to = query.to === undefined ? ctx.clock.now() : new Date(query.to * 1000)
    const from = query.from === undefined ? addSeconds(to, -30 * 86_400) : new Date(query.from * 1000)
    if (from > to) throw new ApiError('invalid_value', "Invalid 'from': it is later than 'to'.", { param: 'from' })
    const group_by = query.group_by ?? 'day'
    const rows = await sumCharges(ctx.db, principal.org_id, { from, to, group_by })
    return usageView(rows, { from, to, group_by, currency: ctx.config.currency })
  },
})

export const billingEndpoints: readonly Endpoint[] = [readBalance, listLedger, readUsage]
