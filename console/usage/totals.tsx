import { useText } from '../text/use-text.ts'
import { Money, useFormat } from '../ui/data/format.tsx'
import { type Column, Table } from '../ui/data/table.tsx'
import { Card } from '../ui/layout.tsx'
import { COLORS } from './colors.ts'
import { type Dimension, useGroupNames } from './group-names.ts'
import { byCost, SERIES_MAX, type Usage, type UsageSum } from './series.ts'

type Row = UsageSum & { id: string; color: string | null }

/** The exact totals behind the chart, highest cost first; days newest first. */
export function Totals({ by, label, usage }: { by: Dimension; label: string; usage: Usage | undefined }) {
  const columns = useColumns(by, usage?.currency ?? 'usd')
  const fits = usage?.group_by === by
  return <Table label={label} columns={columns} rows={fits ? rowsOf(by, usage.data) : null} />
}

/** What the organization stores now, whatever the period. */
export function StorageTotal({ storage }: Pick<Usage, 'storage'>) {
  const t = useText('usage')
  const { bytes } = useFormat()
  const { files, videos, responses, records, limit } = storage
  const stored = bytes(files + videos + responses + records)
  const total = limit === null ? stored : t('storage_of', { stored, limit: bytes(limit) })
  return (
    <Card title={t('storage')} actions={<span className="text-sm font-semibold text-ink">{total}</span>}>
      <p className="text-sm text-muted">
        {t('storage_kinds', {
          files: bytes(files),
          videos: bytes(videos),
          responses: bytes(responses),
          records: bytes(records),
        })}
      </p>
    </Card>
  )
}

function rowsOf(by: Dimension, data: readonly UsageSum[]): Row[] {
  if (by === 'day') return [...data].reverse().map((sum) => ({ ...sum, id: sum.group ?? '', color: null }))
  const named = data.length <= SERIES_MAX ? data.length : SERIES_MAX - 1
  return byCost(data).map((sum, i) => ({
    ...sum,
    id: sum.group ?? 'none',
    color: i < named ? COLORS[i]! : COLORS.at(-1)!,
  }))
}

function useColumns(by: Dimension, currency: string): Column<Row>[] {
  const t = useText('usage')
  const { number } = useFormat()
  const nameOf = useGroupNames(by)
  const headers = { day: t('by_day'), model: t('by_model'), key: t('by_key'), person: t('by_person') }
  return [
    {
      key: 'group',
      header: headers[by],
      lead: true,
      cell: (row) => (
        <span className="flex min-w-0 items-center gap-2.5 font-medium [overflow-wrap:anywhere]">
          {row.color && (
            <span aria-hidden data-swatch className="size-2.5 shrink-0 rounded-sm" style={{ background: row.color }} />
          )}
          {nameOf(row)}
        </span>
      ),
    },
    { key: 'charges', header: t('column_charges'), align: 'end', cell: ({ charges }) => number(charges) },
    {
      key: 'seconds',
      header: t('column_seconds'),
      align: 'end',
      cell: ({ video_seconds }) => (video_seconds === 0 ? '–' : t('seconds', { seconds: number(video_seconds) })),
    },
    {
      key: 'tokens',
      header: t('column_tokens'),
      align: 'end',
      cell: ({ input_tokens, output_tokens }) =>
        input_tokens + output_tokens === 0 ? '–' : number(input_tokens + output_tokens),
    },
    {
      key: 'cost',
      header: t('column_cost'),
      align: 'end',
      cell: ({ amount }) => <Money amount={amount} currency={currency} digits="exact" />,
    },
  ]
}
