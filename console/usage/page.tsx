import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { ChartColumn, Download } from 'lucide-react'
import { lazy, Suspense } from 'react'
import { queryOf, request } from '../api/request.ts'
import { useText } from '../text/use-text.ts'
import { buttonClass } from '../ui/button.tsx'
import { Money } from '../ui/data/format.tsx'
import { FailureNote } from '../ui/failure-note.tsx'
import { Segmented } from '../ui/form/choice.tsx'
import { Card, EmptyState, PageHeader, Skeleton } from '../ui/layout.tsx'
import { type Dimension, useGroupNames } from './group-names.ts'
import { boundsOf, daysOf, periodOf, spanOf } from './period.ts'
import { PeriodPicker } from './period-picker.tsx'
import { byCost, chartDays, type Series, seriesOf, type Usage } from './series.ts'
import { StorageTotal, Totals } from './totals.tsx'

const UsageChart = lazy(() => import('./usage-chart.tsx'))

const DIMENSIONS = ['day', 'model', 'key', 'person'] as const

export function UsagePage() {
  const t = useText('usage')
  const navigate = useNavigate()
  const search = useSearch({ from: '/shell/usage' })
  const change = (next: typeof search) => void navigate({ to: '.', search: next, replace: true, resetScroll: false })
  const by = DIMENSIONS.find((each) => each === search.by) ?? 'model'
  const span = spanOf(search)
  const period = periodOf(search)
  const bounds = boundsOf(period)
  const sums = useUsage({ ...bounds, group_by: by }, bounds !== null)
  const byDay = useUsage({ ...bounds, group_by: by === 'day' ? 'day' : `day,${by}` }, bounds !== null)
  const names = { day: t('by_day'), model: t('by_model'), key: t('by_key'), person: t('by_person') }
  const usage = sums.data
  const csv = (
    <a
      href={`/console/usage.csv${queryOf({ ...bounds, group_by: by === 'day' ? 'day' : `day,${by}` })}`}
      download
      className={buttonClass()}
    >
      <Download aria-hidden />
      {t('csv')}
    </a>
  )
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} actions={csv}>
        <div className="flex flex-wrap items-end gap-x-6 gap-y-3">
          <PeriodPicker
            {...{ span, period }}
            onChange={(chosen) => change({ ...(search.by && { by: search.by }), ...chosen })}
          />
          <Segmented
            label={t('by')}
            value={by}
            onChange={(next) => change({ ...search, by: next })}
            options={DIMENSIONS.map((value) => ({ value, label: names[value] }))}
          />
        </div>
      </PageHeader>
      {sums.error ? (
        <FailureNote error={sums.error} onRetry={() => void sums.refetch()} />
      ) : usage && usage.data.length === 0 ? (
        <div className="flex flex-col gap-6">
          <Card flush>
            <EmptyState icon={<ChartColumn />} title={t('empty_title')}>
              {t('empty_text')}
            </EmptyState>
          </Card>
          <StorageTotal storage={usage.storage} />
        </div>
      ) : (
        <div className="flex flex-col gap-6">
          <Chart by={by} days={daysOf(period)} usage={usage} byDay={byDay.data} />
          <Totals by={by} label={t('table', { by: names[by] })} usage={usage} />
          {usage && <StorageTotal storage={usage.storage} />}
        </div>
      )}
    </>
  )
}

type ChartProps = { by: Dimension; days: string[]; usage: Usage | undefined; byDay: Usage | undefined }

function Chart({ by, days, usage, byDay }: ChartProps) {
  const t = useText('usage')
  const nameOf = useGroupNames(by)
  const series = usage && by !== 'day' ? seriesOf(byCost(usage.data)) : []
  const label = ({ id, others }: Series) => {
    const sum = usage?.data.find(({ group }) => group === id)
    return others || !sum ? t('others') : nameOf(sum)
  }
  // Both answers must be for the same question before they are drawn together.
  const fits =
    days.length > 0 &&
    usage &&
    byDay &&
    byDay.group_by === (by === 'day' ? 'day' : `day,${by}`) &&
    usage.group_by === by
  return (
    <Card
      title={t('chart')}
      actions={
        <span className="text-sm text-muted">
          {t('total')}{' '}
          <span className="font-semibold text-ink">
            {usage && <Money amount={usage.total} currency={usage.currency} digits="exact" />}
          </span>
        </span>
      }
    >
      <div className="h-64">
        {fits ? (
          <Suspense fallback={<Skeleton className="h-full w-full" />}>
            <UsageChart
              days={chartDays(days, byDay.data, series)}
              series={series}
              nameOf={label}
              currency={usage.currency}
            />
          </Suspense>
        ) : (
          <Skeleton className="h-full w-full" />
        )}
      </div>
    </Card>
  )
}

function useUsage(query: { from?: number; to?: number; group_by: string }, enabled: boolean) {
  return useQuery({
    queryKey: ['usage', query],
    queryFn: ({ signal }) => request<Usage>('GET', '/console/usage', { query, signal }),
    placeholderData: keepPreviousData,
    enabled,
  })
}
