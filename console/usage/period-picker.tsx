import { useText } from '../text/use-text.ts'
import { Segmented } from '../ui/form/choice.tsx'
import { Field } from '../ui/form/field.tsx'
import { Input } from '../ui/form/input.tsx'
import { type Period, type PeriodSearch, SPANS, type Span } from './period.ts'

type Props = { span: Span; period: Period; onChange: (search: PeriodSearch) => void }

/** The last 7, 30 or 90 days, or a custom range. */
export function PeriodPicker({ span, period, onChange }: Props) {
  const t = useText('usage')
  const choose = (next: Span) => onChange(next === 'custom' ? period : { days: Number(next) })
  const options = [
    ...SPANS.map((value) => ({ value, label: t('days', { count: Number(value) }) })),
    { value: 'custom' as const, label: t('custom') },
  ]
  return (
    <div className="flex flex-wrap items-end gap-3">
      <Segmented<Span> label={t('period')} value={span} onChange={choose} options={options} />
      {span === 'custom' && (
        <div className="flex gap-3">
          <Field label={t('from')}>
            <Input
              type="date"
              value={period.from}
              max={period.to}
              onChange={(event) => onChange({ ...period, from: event.target.value })}
            />
          </Field>
          <Field label={t('to')}>
            <Input
              type="date"
              value={period.to}
              min={period.from}
              onChange={(event) => onChange({ ...period, to: event.target.value })}
            />
          </Field>
        </div>
      )}
    </div>
  )
}
