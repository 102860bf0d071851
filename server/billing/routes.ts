import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Static } from 'typebox'
import { planOf } from '../catalog/entitlements.ts'
import type { Context } from '../context.ts'
import type { Principal } from '../identity/caller/principal.ts'
import { type Route, route } from '../identity/caller/route.ts'
import { addSeconds } from '../platform/clock.ts'
import { ApiError } from '../platform/errors.ts'
import { abortOnLeaving } from '../platform/http/abort-on-disconnect.ts'
import { pageOf, positionOf } from '../platform/http/list.ts'
import { ledgerCsv, readReport, usageCsv } from './export.ts'
import {
  BalanceView,
  balanceView,
  LEDGER_PAGE,
  LedgerCsvQuery,
  LedgerList,
  LedgerQuery,
  ledgerEntryView,
  UsageQuery,
  UsageView,
  usageView,
} from './schema.ts'
import { findStoredBytes } from './storage/store.ts'
import { findAccount } from './store.ts'
import { type Grouping, listLedgerPage, sumCharges } from './store-reports.ts'

/** Groups of one answer; more are refused rather than cut off, because sums must be complete. */
const GROUPS_MAX = 20_000

const readBalance = route({
  method: 'GET',
  path: '/console/balance',
  auth: 'session',
  summary: "The organization's balance, what is held for jobs in flight, and what is available",
  description: 'Available is the balance less what is held.',
  response: BalanceView,
  async handle(ctx, { principal }) {
    const account = await findAccount(ctx.db, principal.org_id)
    return balanceView(account ?? { org_id: principal.org_id, balance: 0n, held: 0n, running: 0 }, ctx.config.currency)
  },
})

const listLedger = route({
  method: 'GET',
  path: '/console/ledger',
  auth: 'session',
  summary: 'Ledger entries, newest first',
  description: 'Grants and charges, each with what it was for. They are never changed.',
  query: LedgerQuery,
  response: LedgerList,
  async handle(ctx, { principal, query }) {
    const position = positionOf('entry', query, LEDGER_PAGE)
    return pageOf(await listLedgerPage(ctx.db, principal, position), position.limit, ledgerEntryView)
  },
})

/** See `asFile`. */
const FILE_HEADERS = { 'content-disposition': 'always', 'x-content-type-options': 'always' } as const

const exportLedger = route({
  method: 'GET',
  path: '/console/ledger.csv',
  auth: 'session',
  summary: 'Ledger entries of a period as CSV, oldest first',
  description: 'The period is chosen by `from` and `to`.',
  query: LedgerCsvQuery,
  response_type: 'text/csv',
  headers: FILE_HEADERS,
  async handle(ctx, { principal, query, request, reply }) {
    const { from, to } = periodOf(ctx, { from: 0, ...query })
    const { currency } = ctx.config
    asFile(reply, 'ledger', { from: query.from === undefined ? null : from, to })
    if (request.method === 'HEAD') return reply.send('')
    const { signal } = abortOnLeaving(reply)
    return reply.send(Readable.from(ledgerCsv(ctx.db, principal, { from, to, currency }, signal)))
  },
})

const readUsage = route({
  method: 'GET',
  path: '/console/usage',
  auth: 'session',
  summary: 'Sums of what was charged, by day, model, key or person, or by two of them',
  description: 'Days are of UTC.',
  query: UsageQuery,
  response: UsageView,
  handle: async (ctx, { principal, query, reply }) => usageOf(ctx, principal, query, abortOnLeaving(reply).signal),
})

const exportUsage = route({
  method: 'GET',
  path: '/console/usage.csv',
  auth: 'session',
  summary: 'The same sums as CSV',
  description: 'Takes the same query.',
  query: UsageQuery,
  response_type: 'text/csv',
  headers: FILE_HEADERS,
  async handle(ctx, { principal, query, reply }) {
    const text = usageCsv(await usageOf(ctx, principal, query, abortOnLeaving(reply).signal))
    asFile(reply, 'usage', periodOf(ctx, query))
    return reply.send(text)
  },
})

export const billingRoutes: readonly Route[] = [readBalance, listLedger, exportLedger, readUsage, exportUsage]

async function usageOf(
  ctx: Context,
  principal: Principal,
  query: Static<typeof UsageQuery>,
  left: AbortSignal,
): Promise<UsageView> {
  const group_by = (query.group_by ?? 'day') as Grouping
  const period = { ...periodOf(ctx, query), group_by }
  const sums = { ...period, limit: GROUPS_MAX + 1 }
  const rows = await readReport(principal.org_id, () => sumCharges(ctx.db, principal, sums), left)
  if (rows.length > GROUPS_MAX) {
    const message = `Invalid 'from': there are more than ${GROUPS_MAX} groups. Ask for a shorter period.`
    throw new ApiError('invalid_value', message, { param: 'from' })
  }
  const { currency, chat_models, video_models } = ctx.config
  const names = new Map([...chat_models, ...video_models].map(({ id, name }) => [id, name]))
  const limit = planOf(ctx.config, principal.plan).max_stored_bytes
  const storage = { ...(await findStoredBytes(ctx.db, principal.org_id)), limit }
  return usageView(rows, { ...period, currency, names, storage })
}

/** Throws ApiError `invalid_value` for a period that ends before it begins. */
function periodOf(ctx: Context, query: { from?: number; to?: number }): { from: Date; to: Date } {
  const to = query.to === undefined ? ctx.clock.now() : new Date(query.to * 1000)
  const from = query.from === undefined ? addSeconds(to, -30 * 86_400) : new Date(query.from * 1000)
  if (from > to) throw new ApiError('invalid_value', "Invalid 'from': it is later than 'to'.", { param: 'from' })
  return { from, to }
}

function asFile(reply: FastifyReply, name: string, { from, to }: { from: Date | null; to: Date }): void {
  const days = [from, to].filter((each) => each !== null).map((each) => each.toISOString().slice(0, 10))
  reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${[name, ...days].join('-')}.csv"`)
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
}
