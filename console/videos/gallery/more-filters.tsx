import { useBalance } from '../../api/queries.ts'
import { useVideoModels } from '../../api/video-models.ts'
import { useText } from '../../text/use-text.ts'
import { Field } from '../../ui/form/field.tsx'
import { Select } from '../../ui/form/input.tsx'
import { dayOf } from '../jobs/list-pages.ts'
import { useTags } from '../labels/change-labels.ts'
import { type Filter, isTaken, STATUS_CHOICES } from './filter.ts'
import { SettledInput } from './settled-input.tsx'

type FilterProps = { filter: Filter; onChange: (changes: Filter) => void }

/** Filters by status, model, days, cost, tag and favorites. */
export function MoreFilters({ filter, onChange }: FilterProps) {
  const t = useText('videos')
  const currency = useBalance().data?.currency ?? ''
  const models = useVideoModels().data ?? []
  const { model = '' } = filter
  const gone = model !== '' && !models.some(({ id }) => id === model) ? [{ value: model, label: model }] : []
  return (
    <div className="grid grid-cols-[repeat(auto-fill,minmax(9rem,1fr))] gap-3">
      <Field label={t('find.status')}>
        <Select
          value={filter.status ?? ''}
          onChange={(status) => onChange({ status })}
          options={[
            { value: '', label: t('find.any_status') },
            { value: STATUS_CHOICES.running, label: t('find.running') },
            ...(['completed', 'failed', 'canceled'] as const).map((value) => ({ value, label: t(`status.${value}`) })),
          ]}
        />
      </Field>
      <Field label={t('find.model')}>
        <Select
          value={model}
          onChange={(value) => onChange({ model: value })}
          options={[
            { value: '', label: t('find.any_model') },
            ...models.map(({ id, name }) => ({ value: id, label: name })),
            ...gone,
          ]}
        />
      </Field>
      <DayFilters filter={filter} onChange={onChange} />
      {(['cost_min', 'cost_max'] as const).map((name) => (
        <Field key={name} label={t(`find.${name}`, { currency: currency.toUpperCase() })}>
          <SettledInput
            inputMode="decimal"
            maxLength={19}
            value={filter[name] ?? ''}
            isTaken={(text) => isTaken(name, text.normalize('NFKC'))}
            onSettle={(text) => onChange({ [name]: text.normalize('NFKC') })}
          />
        </Field>
      ))}
      <LabelFilters filter={filter} onChange={onChange} />
    </div>
  )
}

function LabelFilters({ filter: { tag = '', favorite = '' }, onChange }: FilterProps) {
  const t = useText('videos/clips')
  const tags = useTags()
  const gone = tag !== '' && !tags.includes(tag) ? [tag] : []
  return (
    <>
      <Field label={t('filter_tag')}>
        <Select
          value={tag}
          onChange={(value) => onChange({ tag: value })}
          options={[
            { value: '', label: t('any_tag') },
            ...[...tags, ...gone].map((value) => ({ value, label: value })),
          ]}
        />
      </Field>
      <Field label={t('filter_favorite')}>
        <Select
          value={favorite}
          onChange={(value) => onChange({ favorite: value })}
          options={[
            { value: '', label: t('all_videos') },
            { value: 'true', label: t('only_favorites') },
          ]}
        />
      </Field>
    </>
  )
}

/** Days where the reader is: from the beginning of the first to the end of the last. */
function DayFilters({ filter, onChange }: FilterProps) {
  const t = useText('videos')
  const { created_after: after, created_before: before } = filter
  const from = after === undefined ? '' : dayOf(Number(after))
  const to = before === undefined ? '' : dayOf(Number(before) - 1)
  return (
    <>
      <Field label={t('find.from')}>
        <SettledInput
          type="date"
          value={from}
          isTaken={(day) => isTaken('created_after', midnight(day, 0))}
          onSettle={(day) => onChange({ created_after: midnight(day, 0) })}
        />
      </Field>
      <Field label={t('find.to')}>
        <SettledInput
          type="date"
          value={to}
          isTaken={(day) => isTaken('created_before', midnight(day, 1))}
          onSettle={(day) => onChange({ created_before: midnight(day, 1) })}
        />
      </Field>
    </>
  )
}

/**
 * The beginning of the day, or of the one `later` days after it, in Unix seconds. While a year is typed its first digits are a year too, and
 * `Date` adds 1900 to those below 100.
 */
function midnight(day: string, later: number): string {
  if (day === '') return ''
  const [year, month, date] = day.split('-').map(Number)
  return String(year! < 1970 ? Number.NaN : new Date(year!, month! - 1, date! + later).getTime() / 1000)
}
