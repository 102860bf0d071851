import { useQuery } from '@tanstack/react-query'
import { SlidersHorizontal } from 'lucide-react'
import { type ComponentProps, useEffect, useId, useRef, useState } from 'react'
import type { SubmitterList } from '../../../server/console/schema.ts'
import { request } from '../../api/request.ts'
import { useSession } from '../../api/session.ts'
import { useVideoModels } from '../../api/video-models.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { Slider } from '../../ui/form/choice.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Input, Select } from '../../ui/form/input.tsx'
import { dayOf } from '../jobs/list-pages.ts'
import { CARD_SIZES, type Filter, type FilterName, STATUS_CHOICES, useCardSize, useFilter } from './filter.ts'

/** In sight without opening anything. */
const IN_SIGHT: readonly FilterName[] = ['search', 'user_id']

/** Search, filters and the size of cards. */
export function FilterBar() {
  const t = useText('videos')
  const { filter, change, clear } = useFilter()
  const [size, setSize] = useCardSize()
  const on = Object.keys(filter).filter((name) => !IN_SIGHT.includes(name as FilterName)).length
  const [open, setOpen] = useState(on > 0)
  const panel = useId()
  return (
    <search className="mb-3 flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <SettledInput
          type="search"
          aria-label={t('find.search')}
          placeholder={t('find.search')}
          maxLength={200}
          value={filter.search ?? ''}
          onSettle={(search) => change({ search })}
          className="min-w-44 grow basis-56"
        />
        <PersonFilter value={filter.user_id ?? ''} onChange={(user_id) => change({ user_id })} />
        <Button icon={<SlidersHorizontal />} aria-expanded={open} aria-controls={panel} onClick={() => setOpen(!open)}>
          {on === 0 ? t('find.filters') : t('find.filters_on', { count: on })}
        </Button>
        {Object.keys(filter).length > 0 && (
          <Button variant="ghost" onClick={clear}>
            {t('find.clear')}
          </Button>
        )}
        <div className="ms-auto w-28">
          <Slider {...CARD_SIZES} value={size} onChange={setSize} label={t('find.card_size')} />
        </div>
      </div>
      <div id={panel} hidden={!open} className="rounded-xl border border-line bg-surface px-4 py-3">
        <MoreFilters filter={filter} onChange={change} />
      </div>
    </search>
  )
}

type FilterProps = { filter: Filter; onChange: (changes: Filter) => void }

function MoreFilters({ filter, onChange }: FilterProps) {
  const t = useText('videos')
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
        <Field key={name} label={t(`find.${name}`)}>
          <SettledInput
            inputMode="decimal"
            maxLength={21}
            pattern="\d{1,12}(\.\d{1,8})?"
            value={filter[name] ?? ''}
            onSettle={(text) => onChange({ [name]: text })}
          />
        </Field>
      ))}
    </div>
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
        <Input
          type="date"
          value={from}
          {...(to && { max: to })}
          onChange={({ target }) => onChange({ created_after: midnight(target.value, 0) })}
        />
      </Field>
      <Field label={t('find.to')}>
        <Input
          type="date"
          value={to}
          {...(from && { min: from })}
          onChange={({ target }) => onChange({ created_before: midnight(target.value, 1) })}
        />
      </Field>
    </>
  )
}

/** The beginning of the day, or of the one `later` days after it, in Unix seconds; nothing for what is no day. */
function midnight(day: string, later: number): string {
  const [year, month, date] = day.split('-').map(Number)
  const at = new Date(year!, month! - 1, date! + later).getTime()
  return Number.isFinite(at) && at >= 0 ? String(at / 1000) : ''
}

function PersonFilter({ value, onChange }: { value: string; onChange: (user_id: string) => void }) {
  const t = useText('videos')
  const { user } = useSession()
  const { data } = useQuery({
    queryKey: ['video-submitters'],
    queryFn: ({ signal }) => request<SubmitterList>('GET', '/console/videos/submitters', { signal }),
  })
  const nameOf = (id: string, name: string | null | undefined) => name ?? t('find.somebody', { id: id.slice(-6) })
  const others = (data?.data ?? []).filter(({ id }) => id !== user.id)
  const missing = value !== '' && value !== user.id && !others.some(({ id }) => id === value)
  return (
    <Select
      aria-label={t('find.person')}
      className="w-36"
      value={value}
      onChange={onChange}
      options={[
        { value: '', label: t('find.everybody') },
        { value: user.id, label: t('find.you') },
        ...others
          .map(({ id, name }) => ({ value: id, label: nameOf(id, name) }))
          .toSorted((a, b) => a.label.localeCompare(b.label)),
        ...(missing ? [{ value, label: nameOf(value, null) }] : []),
      ]}
    />
  )
}

const SETTLED_MS = 250

type SettledProps = Omit<ComponentProps<typeof Input>, 'value' | 'onChange'> & {
  value: string
  /** Called with what is typed, once the person pauses. */
  onSettle: (text: string) => void
}

/** An input whose value is asked for once its person pauses, and not while they choose Japanese characters. */
function SettledInput({ value, onSettle, ...rest }: SettledProps) {
  const [typed, setTyped] = useState(value)
  const [composing, setComposing] = useState(false)
  const settled = useRef(value)
  const settle = useRef(onSettle)
  settle.current = onSettle
  useEffect(() => {
    if (value === settled.current) return
    settled.current = value
    setTyped(value)
  }, [value])
  useEffect(() => {
    const text = typed.trim()
    if (composing || text === settled.current) return
    const timer = setTimeout(() => {
      settled.current = text
      settle.current(text)
    }, SETTLED_MS)
    return () => clearTimeout(timer)
  }, [typed, composing])
  return (
    <Input
      {...rest}
      value={typed}
      onChange={({ target }) => setTyped(target.value)}
      onCompositionStart={() => setComposing(true)}
      onCompositionEnd={() => setComposing(false)}
    />
  )
}
