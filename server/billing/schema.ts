import Type, { type Static } from 'typebox'
import { unixSeconds } from '../platform/clock.ts'
import { listQuery, listSchema } from '../platform/http/list.ts'
import { formatMoney } from '../platform/money.ts'
import type { AccountRow } from './store.ts'
import { GROUPINGS, type NamedEntry, type UsagePeriod, type UsageRow } from './store-reports.ts'

const Money = Type.String({ description: 'Decimal string with 8 fraction digits.' })
const MaybeText = Type.Union([Type.String(), Type.Null()])
const MaybeCount = Type.Union([Type.Integer(), Type.Null()])

export const BalanceView = Type.Object({
  object: Type.Literal('balance'),
  balance: Money,
  held: Money,
  available: Money,
  currency: Type.String(),
})

export const LedgerEntryView = Type.Object({
  id: Type.String(),
  object: Type.Literal('ledger_entry'),
  kind: Type.Enum(['grant', 'charge']),
  amount: Money,
  video_id: MaybeText,
  user_id: MaybeText,
  user_name: Type.Union([Type.String(), Type.Null()], { description: 'Of the person, if you may see it.' }),
  key_id: MaybeText,
  key_name: Type.Union([Type.String(), Type.Null()], { description: 'Of the key, if you may see it.' }),
  request_id: MaybeText,
  model: MaybeText,
  seconds: MaybeCount,
  input_tokens: MaybeCount,
  cached_input_tokens: MaybeCount,
  output_tokens: MaybeCount,
  reasoning_tokens: MaybeCount,
  note: MaybeText,
  created_at: Type.Integer(),
})
export const LedgerList = listSchema(LedgerEntryView)

export const LEDGER_PAGE = { default: 20, max: 100 }
export const LedgerQuery = Type.Object(listQuery(LEDGER_PAGE))

export const UsageQuery = Type.Object({
  from: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 4_102_444_800, description: 'Unix seconds; default 30 days before `to`.' }),
  ),
  to: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 4_102_444_800, description: 'Unix seconds, not included; default now.' }),
  ),
  group_by: Type.Optional(
    Type.Enum([...GROUPINGS], { description: 'One of four, or two of them: the second within the first.' }),
  ),
})

export const LedgerCsvQuery = Type.Object({
  from: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 4_102_444_800, description: 'Unix seconds; default the first entry.' }),
  ),
  to: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 4_102_444_800, description: 'Unix seconds, not included; default now.' }),
  ),
})

const StorageView = Type.Object(
  {
    files: Type.Integer(),
    videos: Type.Integer(),
    responses: Type.Integer(),
    records: Type.Integer({ description: 'Webhook events and moderation records, which are kept for 30 days.' }),
    limit: Type.Union([Type.Integer(), Type.Null()], { description: 'Of all together; null if there is none.' }),
  },
  { description: 'Bytes that the organization stores now, whatever the period.' },
)

export const UsageView = Type.Object({
  object: Type.Literal('usage'),
  from: Type.Integer(),
  to: Type.Integer(),
  group_by: Type.String(),
  currency: Type.String(),
  total: Money,
  storage: StorageView,
  data: Type.Array(
    Type.Object({
      group: MaybeText,
      name: Type.Union([Type.String(), Type.Null()], {
        description: 'Of the model, key or person, if you may see it.',
      }),
      subgroup: MaybeText,
      subgroup_name: MaybeText,
      amount: Money,
      charges: Type.Integer(),
      video_seconds: Type.Integer(),
      input_tokens: Type.Integer(),
      output_tokens: Type.Integer(),
    }),
  ),
})

export type UsageView = Static<typeof UsageView>

export function balanceView(account: AccountRow, currency: string): Static<typeof BalanceView> {
  const { balance, held } = account
  const available = formatMoney(balance - held)
  return { object: 'balance', balance: formatMoney(balance), held: formatMoney(held), available, currency }
}

export function ledgerEntryView(row: NamedEntry): Static<typeof LedgerEntryView> {
  const { org_id: _, job_id, amount, created_at, person, key, ...rest } = row
  return {
    object: 'ledger_entry',
    ...rest,
    amount: formatMoney(amount),
    video_id: job_id,
    user_name: person,
    key_name: key,
    created_at: unixSeconds(created_at),
  }
}

/** `names` are those of models, which the database does not know. */
export function usageView(
  rows: readonly UsageRow[],
  query: UsagePeriod & Pick<UsageView, 'currency' | 'storage'> & { names: ReadonlyMap<string, string> },
): UsageView {
  const { from, to, group_by, currency, storage, names } = query
  const [first, second] = group_by.split(',')
  const nameOf = (kind: string | undefined, group: string | null, name: string | null) =>
    kind === 'model' ? (names.get(group ?? '') ?? null) : name
  const data = rows.map((row) => ({
    group: row.group,
    name: nameOf(first, row.group, row.name),
    subgroup: row.subgroup,
    subgroup_name: nameOf(second, row.subgroup, row.subgroup_name),
    amount: formatMoney(row.amount),
    charges: Number(row.count),
    video_seconds: Number(row.seconds),
    input_tokens: Number(row.input_tokens),
    output_tokens: Number(row.output_tokens),
  }))
  const total = formatMoney(rows.reduce((sum, { amount }) => sum + amount, 0n))
  return { object: 'usage', from: unixSeconds(from), to: unixSeconds(to), group_by, currency, total, storage, data }
}
