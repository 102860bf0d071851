import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { Clapperboard } from 'lucide-react'
import {
  lazy,
  memo,
  type RefObject,
  Suspense,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { usePollMs } from '../../api/live.ts'
import { useLabelsOfPages, useMakersOfPages } from '../../api/queries.ts'
import { withTexts } from '../../text/languages.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { useFormat } from '../../ui/data/format.tsx'
import { VirtualList } from '../../ui/data/virtual-list.tsx'
import { FailureNote } from '../../ui/failure-note.tsx'
import { EmptyState } from '../../ui/layout.tsx'
import { ALL, type ListFilter, pageQuery, useKnownList } from '../jobs/job-cache.ts'
import { dayOf, type JobList, jobsWithin, lengthOf, placeOf } from '../jobs/list-pages.ts'
import { type Pending, usePending } from '../jobs/pending.ts'
import { type Selection, SelectionContext } from '../select/selection.ts'
import { CARD_FOOT_PIXELS, JobCard, PendingCard, SkeletonCard } from './card.tsx'
import { Examples } from './examples.tsx'
import { useCardSize, useFilter } from './filter.ts'
import { FilterBar } from './filter-bar.tsx'
import { type GalleryRow, rowsOf } from './rows.ts'

const SelectBar = lazy(() =>
  withTexts('videos/clips', import('../select/select-bar.tsx')).then((module) => ({ default: module.SelectBar })),
)

/** The gap between cards, and the height of a day's heading, in pixels. */
const GAP_PIXELS = 16
const DAY_PIXELS = 40
const NO_PENDING: readonly Pending[] = []

/** The jobs of the organization, newest first, by day. Only visible rows are rendered and only their pages are held in memory. */
export function Gallery() {
  const t = useText('videos')
  const queries = useQueryClient()
  const poll = usePollMs()
  const box = useRef<HTMLDivElement>(null)
  const { query, clear } = useFilter()
  const [size] = useCardSize()
  const { columns, card_pixels } = useColumns(box, size)
  const head = useQuery({ ...pageQuery(queries, null, poll, query), select: isLoaded })
  const list = useKnownList(query)
  const submitted = usePending()
  const pending = query === ALL ? submitted : NO_PENDING
  const [failed, setFailed] = useState<{ query: ListFilter; error: unknown } | null>(null)
  const tailError = failed?.query === query ? failed.error : null
  const pages = list?.pages
  const count = pages ? lengthOf(pages) : 0
  const rows = useMemo(
    () => rowsOf(pages ?? [], { pending: pending.length, columns }),
    [pages, pending.length, columns],
  )
  const next = list?.tail.next ?? null
  const loadMore = useCallback(() => {
    if (next === null) return
    setFailed(null)
    queries.fetchQuery(pageQuery(queries, next, false, query)).catch((error) => setFailed({ query, error }))
  }, [queries, next, query])
  const known = head.data !== undefined || count > 0
  const isEmpty = known && pending.length + count === 0
  useEffect(() => {
    if (isEmpty) loadMore()
  }, [isEmpty, loadMore])
  const [selecting, setSelecting] = useState(false)
  const [selection, setSelection] = useState<Selection | null>(null)
  const selectButton = useRef<HTMLButtonElement>(null)
  const rowPixels = (card_pixels * 9) / 16 + CARD_FOOT_PIXELS + 2 + GAP_PIXELS
  return (
    <div ref={box} className="min-w-0">
      {(query !== ALL || !isEmpty) && <FilterBar {...{ selecting, selectButton }} onSelecting={setSelecting} />}
      <Suspense>
        {selecting && pages && (
          <SelectBar
            {...{ pages, query }}
            onSelection={setSelection}
            onEnd={() => {
              setSelecting(false)
              selectButton.current?.focus({ preventScroll: true })
            }}
          />
        )}
      </Suspense>
      {!known && head.error !== null && <FailureNote error={head.error} onRetry={() => void head.refetch()} />}
      {!known && head.error === null && <Skeletons columns={columns} />}
      {isEmpty && query === ALL && <Examples />}
      {isEmpty && query !== ALL && next === null && <NoMatch onClear={clear} />}
      {known && rows.length > 0 && (
        <SelectionContext value={selection}>
          <VirtualList
            items={rows}
            keyOf={keyOf}
            pixelsOf={(row) => (row.kind === 'day' ? DAY_PIXELS : rowPixels)}
            isHeading={isDay}
            onEnd={loadMore}
            label={t('gallery')}
          >
            {(row) =>
              row.kind === 'day' ? <Day day={row.day} /> : <Row {...{ row, columns, pending, query }} pages={pages!} />
            }
          </VirtualList>
        </SelectionContext>
      )}
      {query !== ALL && next !== null && tailError === null && (
        <p role="status" className="animate-breathe py-6 text-center text-[0.8125rem] text-muted">
          {t('find.searching')}
        </p>
      )}
      {tailError !== null && <FailureNote error={tailError} onRetry={loadMore} />}
      {known && query === ALL && count > 0 && list?.tail.has_more === false && count > columns * 3 && (
        <p className="pt-2 pb-6 text-center text-[0.8125rem] text-muted">{t('end')}</p>
      )}
    </div>
  )
}

function keyOf({ key }: GalleryRow): string {
  return key
}

function isDay({ kind }: GalleryRow): boolean {
  return kind === 'day'
}

function Day({ day }: { day: string }) {
  const t = useText('videos')
  const { date } = useFormat()
  const now = Date.now() / 1000
  const [year, month, at] = day.split('-').map(Number)
  const shown =
    day === dayOf(now)
      ? t('find.today')
      : day === dayOf(now - 86_400)
        ? t('find.yesterday')
        : date(new Date(year!, month! - 1, at!).getTime() / 1000)
  return <h2 className="bg-canvas py-2.5 text-[0.8125rem] font-semibold">{shown}</h2>
}

type RowProps = {
  row: GalleryRow & { kind: 'cards' }
  columns: number
  pending: readonly Pending[]
  pages: JobList
  query: ListFilter
}

const Row = memo(function Row({ row, columns, pending, pages, query }: RowProps) {
  const queries = useQueryClient()
  const poll = usePollMs()
  const places = Array.from({ length: row.count }, (_, at) => row.from + at)
  const found = places.map((place) => (place < pending.length ? null : placeOf(pages, place - pending.length)))
  const needed = [...new Set(found.flatMap((place) => (place ? [place.page] : [])))]
  const results = useQueries({ queries: needed.map((page) => pageQuery(queries, pages[page]!.after, poll, query)) })
  const jobs = new Map(
    needed.map((page, at) => [page, jobsWithin(results[at]!.data?.data ?? [], pages[page + 1]?.after)]),
  )
  const ids = [...jobs.values()].map((each) => each.map(({ id }) => id))
  const makers = useMakersOfPages(ids)
  const labels = useLabelsOfPages(ids)
  return (
    <div className="grid pb-4" style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`, gap: GAP_PIXELS }}>
      {places.map((place, at) => {
        const waiting = pending[place]
        if (waiting) return <PendingCard key={waiting.key} pending={waiting} />
        const where = found[at]
        const job = where && jobs.get(where.page)?.[where.within]
        if (!job) return <SkeletonCard key={`place-${place}`} />
        return <JobCard key={job.id} job={job} maker={makers.get(job.id)} labels={labels.get(job.id)} />
      })}
    </div>
  )
})

/** The jobs of a page are for its rows: what surrounds them is drawn once. */
function isLoaded(): true {
  return true
}

function NoMatch({ onClear }: { onClear: () => void }) {
  const t = useText('videos')
  return (
    <EmptyState
      icon={<Clapperboard />}
      title={t('find.none_title')}
      action={<Button onClick={onClear}>{t('find.clear')}</Button>}
    >
      {t('find.none')}
    </EmptyState>
  )
}

function Skeletons({ columns }: { columns: number }) {
  return (
    <div
      className="grid"
      style={{ gridTemplateColumns: `repeat(${Math.max(1, columns)}, minmax(0, 1fr))`, gap: GAP_PIXELS }}
    >
      {[...Array(Math.max(1, columns) * 2).keys()].map((each) => (
        <SkeletonCard key={each} />
      ))}
    </div>
  )
}

/** Cards per row and their width in pixels, at least `card_min`; zero cards before the box was measured. */
function useColumns(box: RefObject<HTMLDivElement | null>, card_min: number) {
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const measured = box.current!
    setWidth(measured.clientWidth)
    const observer = new ResizeObserver(() => setWidth(measured.clientWidth))
    observer.observe(measured)
    return () => observer.disconnect()
  }, [box])
  if (width === 0) return { columns: 0, card_pixels: card_min }
  const columns = Math.max(1, Math.floor((width + GAP_PIXELS) / (card_min + GAP_PIXELS)))
  return { columns, card_pixels: (width - GAP_PIXELS * (columns - 1)) / columns }
}
