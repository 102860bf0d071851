import { stack } from 'd3-shape'
import { useText } from '../text/use-text.ts'
import { useFormat } from '../ui/data/format.tsx'
import { Plot, type PlotScales } from '../ui/data/plot.tsx'
import { COLORS } from './colors.ts'
import type { Day, Series } from './series.ts'

type Props = { days: Day[]; series: Series[]; nameOf: (series: Series) => string; currency: string }
type Part = { key: string; name: string; color: string }

/** Widest bar. */
const BAR_WIDTH_MAX = 40

/** Cost by day, one bar per day. The table below has the exact amounts. */
export default function UsageChart({ days, series, nameOf, currency }: Props) {
  const t = useText('usage')
  const { locale, money } = useFormat()
  const total = { key: 'total', name: t('total'), color: COLORS[0]! }
  const parts = series.map((each, i) => ({ key: each.key, name: nameOf(each), color: COLORS[i % COLORS.length]! }))
  const stacked = parts.length === 0 ? [total] : parts
  const sumOf = (day: Day) => stacked.reduce((sum, { key }) => sum + amountIn(day, key), 0)
  const date = new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric', timeZone: 'UTC' })
  const dateOf = (day: string) => date.format(new Date(day))
  const costOf = (value: number) => money(String(Number(value.toPrecision(12))), currency, { digits: 'exact' })
  const list = new Intl.ListFormat(locale, { type: 'unit' })

  /** The total of the day, then its groups, highest cost first. */
  const rowsOf = (day: Day) => [
    { ...total, value: sumOf(day) },
    ...parts.map((part) => ({ ...part, value: amountIn(day, part.key) })).filter(({ value }) => value > 0),
  ]
  const textOf = (day: Day) => {
    const amounts = rowsOf(day).map(({ name, value }) => t('amount', { name, amount: costOf(value) }))
    return t('day_amounts', { day: dateOf(day.day), amounts: list.format(amounts) })
  }
  return (
    <Plot
      label={t('chart')}
      columns={days.map(({ day }) => day)}
      max={Math.max(0, ...days.map(sumOf))}
      columnLabel={dateOf}
      valueLabel={costOf}
      columnText={(index) => textOf(days[index]!)}
      columnDetail={(index) => (
        <>
          <p className="mb-1 font-medium">{dateOf(days[index]!.day)}</p>
          <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-0.5">
            {rowsOf(days[index]!).map(({ key, name, color, value }) => (
              <div key={key} className="col-span-2 grid grid-cols-subgrid">
                <dt className="flex min-w-0 items-center gap-2 [overflow-wrap:anywhere] text-muted">
                  {key !== 'total' && (
                    <span data-swatch className="size-2.5 shrink-0 rounded-sm" style={{ background: color }} />
                  )}
                  {name}
                </dt>
                <dd className="text-end tabular-nums">{costOf(value)}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
    >
      {(scales) => <Bars days={days} parts={stacked} scales={scales} />}
    </Plot>
  )
}

/** The parts of each day upon each other; whatever was spent shows, if only as a line. */
function Bars({ days, parts, scales: { x, y } }: { days: Day[]; parts: Part[]; scales: PlotScales }) {
  const width = Math.min(x.bandwidth(), BAR_WIDTH_MAX)
  const inset = (x.bandwidth() - width) / 2
  const layers = stack<Day>()
    .keys(parts.map(({ key }) => key))
    .value(amountIn)(days)
  return layers.map((layer, i) => (
    <g key={layer.key} style={{ fill: parts[i]!.color }}>
      {layer.map(([from, to], day) =>
        to > from ? (
          <rect
            key={days[day]!.day}
            data-bar
            x={x(days[day]!.day)! + inset}
            width={width}
            y={y(to)}
            height={Math.max(1, y(from) - y(to))}
          />
        ) : null,
      )}
    </g>
  ))
}

function amountIn(day: Day, key: string): number {
  return Number(day[key] ?? 0)
}
