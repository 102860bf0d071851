import { useQuery } from '@tanstack/react-query'
import { SlidersHorizontal } from 'lucide-react'
import { lazy, type Ref, Suspense, useId, useState } from 'react'
import type { SubmitterList } from '../../../server/console/schema.ts'
import { request } from '../../api/request.ts'
import { useSession } from '../../api/session.ts'
import { withTexts } from '../../text/languages.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { Slider } from '../../ui/form/choice.tsx'
import { Select } from '../../ui/form/input.tsx'
import { CARD_SIZES, type FilterName, useCardSize, useFilter } from './filter.ts'
import { SettledInput } from './settled-input.tsx'

const MoreFilters = lazy(() =>
  withTexts('videos/clips', import('./more-filters.tsx')).then((module) => ({ default: module.MoreFilters })),
)

/** In sight without opening anything. */
const IN_SIGHT: readonly FilterName[] = ['search', 'user_id']

type BarProps = { selecting: boolean; onSelecting: (selecting: boolean) => void; selectButton: Ref<HTMLButtonElement> }

/** Search, filters, selecting and the size of cards. */
export function FilterBar({ selecting, onSelecting, selectButton }: BarProps) {
  const t = useText('videos')
  const { filter, change, clear } = useFilter()
  const [size, setSize] = useCardSize()
  const on = Object.keys(filter).filter((name) => !IN_SIGHT.includes(name as FilterName)).length
  const [open, setOpen] = useState(on > 0)
  const panel = useId()
  return (
    <search className="@container mb-3 flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <SettledInput
          type="search"
          aria-label={t('find.search')}
          placeholder={t('find.search_short')}
          maxLength={200}
          value={filter.search ?? ''}
          onSettle={(search) => change({ search })}
          className="min-w-44 grow basis-56 @min-[31rem]:min-w-28 @min-[31rem]:basis-28"
        />
        <PersonFilter value={filter.user_id ?? ''} onChange={(user_id) => change({ user_id })} />
        <Button
          icon={<SlidersHorizontal />}
          aria-expanded={open}
          aria-controls={panel}
          className="@min-[31rem]:@max-[42rem]:[&_svg]:hidden"
          onClick={() => setOpen(!open)}
        >
          {on === 0 ? t('find.filters') : t('find.filters_on', { count: on })}
        </Button>
        <Button ref={selectButton} aria-pressed={selecting} onClick={() => onSelecting(!selecting)}>
          {t('find.select')}
        </Button>
        {Object.keys(filter).length > 0 && (
          <Button variant="ghost" onClick={clear}>
            {t('find.clear')}
          </Button>
        )}
        {/* Narrower, there is one column in any case. */}
        <div className="ms-auto hidden w-36 items-center gap-2 @min-[21rem]:flex @min-[31rem]:@max-[42rem]:w-16">
          <span
            aria-hidden
            className="size-2 shrink-0 @min-[31rem]:@max-[42rem]:hidden rounded-xs border-2 border-control"
          />
          <Slider {...CARD_SIZES} value={size} onChange={setSize} label={t('find.card_size')} />
          <span
            aria-hidden
            className="size-4 shrink-0 @min-[31rem]:@max-[42rem]:hidden rounded-sm border-2 border-control"
          />
        </div>
      </div>
      <div id={panel} hidden={!open} className="rounded-xl border border-line bg-surface px-4 py-3">
        <Suspense>{open && <MoreFilters filter={filter} onChange={change} />}</Suspense>
      </div>
    </search>
  )
}

function PersonFilter({ value, onChange }: { value: string; onChange: (user_id: string) => void }) {
  const t = useText('videos')
  const { user } = useSession()
  const [wanted, setWanted] = useState(value !== '' && value !== user.id)
  const { data } = useQuery({
    queryKey: ['video-submitters'],
    queryFn: ({ signal }) => request<SubmitterList>('GET', '/console/videos/submitters', { signal }),
    enabled: wanted,
  })
  const nameOf = (id: string, name: string | null | undefined) => name ?? t('find.somebody', { id: id.slice(-6) })
  const others = (data?.data ?? []).filter(({ id }) => id !== user.id)
  const missing = value !== '' && value !== user.id && !others.some(({ id }) => id === value)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: asks for the names as soon as somebody turns to the list.
    <div
      className="w-36 @min-[31rem]:@max-[42rem]:w-32"
      onFocus={() => setWanted(true)}
      onPointerEnter={() => setWanted(true)}
    >
      <Select
        aria-label={t('find.person')}
        value={value}
        onChange={onChange}
        options={[
          { value: '', label: t('find.everybody') },
          { value: user.id, label: t('find.you') },
          ...others
            .map(({ id, name }) => ({ value: id, label: nameOf(id, name) }))
            .toSorted((a, b) => a.label.localeCompare(b.label)),
          ...(missing ? [{ value, label: data ? nameOf(value, null) : '…' }] : []),
        ]}
      />
    </div>
  )
}
