import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts'
import { useFormat } from '../ui/format.tsx'
import { COLORS } from './colors.ts'
import type { Day, Series } from './series.ts'

type Props = { days: Day[]; series: Series[]; nameOf: (series: Series) => string; currency: string; total: string }

/** Cost by day, one bar a day. The table beside it says the same in words and to the last digit. */
export default function UsageChart({ days, series, nameOf, currency, total }: Props) {
  const format = useFormat()
  const dayOf = (day: string) =>
    new Intl.DateTimeFormat(format.locale, { month: 'short', day: 'numeric', timeZone: 'UTC' }).format(new Date(day))
  const money = (value: number) => format.money(String(Number(value.toPrecision(12))), currency)
  const shown =
    series.length === 0 ? [{ key: 'total', name: total }] : series.map((each) => ({ ...each, name: nameOf(each) }))
  return (
    <ResponsiveContainer width="100%" height="100%">
      <BarChart data={days} margin={{ top: 8, right: 4, bottom: 0, left: 0 }} accessibilityLayer={false}>
        <CartesianGrid vertical={false} stroke="var(--color-line)" />
        <XAxis
          dataKey="day"
          tickFormatter={dayOf}
          tickLine={false}
          axisLine={{ stroke: 'var(--color-line)' }}
          tick={TICK}
          minTickGap={24}
        />
        <YAxis tickFormatter={money} tickLine={false} axisLine={false} tick={TICK} width={72} />
        <Tooltip
          cursor={{ fill: 'var(--color-hover)' }}
          isAnimationActive={false}
          labelFormatter={(day) => dayOf(String(day))}
          formatter={(value) => money(Number(value))}
          contentStyle={TOOLTIP}
        />
        {shown.map(({ key, name }, i) => (
          <Bar
            key={key}
            dataKey={key}
            name={name}
            stackId="cost"
            fill={COLORS[i % COLORS.length]!}
            maxBarSize={40}
            isAnimationActive={false}
          />
        ))}
      </BarChart>
    </ResponsiveContainer>
  )
}

const TICK = { fill: 'var(--color-muted)', fontSize: 12 }
const TOOLTIP = {
  background: 'var(--color-raised)',
  border: '1px solid var(--color-line)',
  borderRadius: 8,
  fontSize: 13,
  color: 'var(--color-ink)',
}
