import type { Db } from '../platform/db/db.ts'
import { openShares } from '../platform/fair-queue.ts'
import { formatMoney } from '../platform/money.ts'
import { nextTurn } from '../platform/turns.ts'
import { type Cell, CSV_START, csvLine } from './csv.ts'
import type { UsageView } from './schema.ts'
import { type LedgerScope, listNamedEntries, type NamedEntry } from './store-reports.ts'

/** Entries of one query: bounds the memory for a file of any length. */
const BATCH = 1000

/** Reads for reports: one of an organization at a time, so that they leave the database to the requests of others. */
export const readReport = openShares({ each: 1, all: 2 })

const LEDGER_COLUMNS = [
  ...['id', 'created_at', 'kind', 'amount', 'currency', 'model', 'video_id', 'seconds'],
  ...['input_tokens', 'cached_input_tokens', 'output_tokens', 'reasoning_tokens'],
  ...['person_id', 'person', 'key_id', 'key', 'request_id', 'note'],
]

/** The ledger of a period as CSV, oldest first, in chunks. Nothing more is read once `left` aborts. */
export async function* ledgerCsv(
  db: Db,
  asked: LedgerScope,
  query: { from: Date; to: Date; currency: string },
  left: AbortSignal,
): AsyncGenerator<string> {
  yield CSV_START + csvLine(LEDGER_COLUMNS)
  for (let after = ''; ; ) {
    const page = { ...query, after, limit: BATCH }
    const rows = await readReport(asked.org_id, () => listNamedEntries(db, asked, page), left)
    await nextTurn()
    if (rows.length > 0) yield rows.map((row) => csvLine(ledgerCells(row, query.currency))).join('')
    if (rows.length < BATCH) return
    after = rows.at(-1)!.id
  }
}

function ledgerCells(row: NamedEntry, currency: string): Cell[] {
  return [
    ...[row.id, row.created_at.toISOString(), row.kind, { exact: formatMoney(row.amount) }, currency],
    ...[row.model, row.job_id, row.seconds],
    ...[row.input_tokens, row.cached_input_tokens, row.output_tokens, row.reasoning_tokens],
    ...[row.user_id, row.person, row.key_id, row.key, row.request_id, row.note],
  ]
}

/** Sums of usage as CSV. The group columns are named after what they group by. */
export function usageCsv(usage: UsageView): string {
  const groups = usage.group_by.split(',')
  const head = groups.flatMap((each) => (each === 'day' ? [each] : [each, `${each}_name`]))
  const sums = ['amount', 'currency', 'charges', 'video_seconds', 'input_tokens', 'output_tokens']
  const lines = usage.data.map((row) => {
    const named = [
      [row.group, row.name],
      [row.subgroup, row.subgroup_name],
    ] as const
    const cells = groups.flatMap((each, i) => (each === 'day' ? [named[i]![0]] : [...named[i]!]))
    const { charges, video_seconds, input_tokens, output_tokens } = row
    return csvLine([
      ...cells,
      ...[{ exact: row.amount }, usage.currency, charges, video_seconds, input_tokens, output_tokens],
    ])
  })
  return CSV_START + csvLine([...head, ...sums]) + lines.join('')
}
