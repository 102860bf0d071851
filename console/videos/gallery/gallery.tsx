import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { memo, type RefObject, useCallback, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { usePollMs } from '../../api/live.ts'
import { useText } from '../../text/use-text.ts'
import { VirtualList } from '../../ui/data/virtual-list.tsx'
import { FailureNote } from '../../ui/failure-note.tsx'
import { pageQuery, useKnownList } from '../jobs/job-cache.ts'
import { type JobList, jobsWithin, lengthOf, placeOf } from '../jobs/list-pages.ts'
import { type Pending, usePending } from '../jobs/pending.ts'
import { CARD_FOOT_PIXELS, JobCard, PendingCard, SkeletonCard } from './card.tsx'
import { Examples } from './examples.tsx'

/** Narrowest card and the gap between cards, in pixels. */
const CARD_PIXELS_MIN = 240
const GAP_PIXELS = 16

/** All jobs of the organization, newest first. Only visible rows are rendered and only their pages are held in memory. */
export function Gallery() {
  const t = useText('videos')
  const queries = useQueryClient()
  const poll = usePollMs()
  const box = useRef<HTMLDivElement>(null)
  const { columns, card_pixels } = useColumns(box)
  const head = useQuery({ ...pageQuery(queries, null, poll), select: isLoaded })
  const list = useKnownList()
  const pending = usePending()
  const [tailError, setTailError] = useState<unknown>(null)
  const count = list ? lengthOf(list.pages) : 0
  const rows = useMemo(() => rowsOf(pending.length + count, columns), [pending.length, count, columns])
  const next = list?.tail.next ?? null
  const loadMore = useCallback(() => {
    if (next === null) return
    setTailError(null)
    queries.fetchQuery(pageQuery(queries, next)).catch(setTailError)
  }, [queries, next])
  const known = head.data !== undefined || count > 0
  const rowPixels = (card_pixels * 9) / 16 + CARD_FOOT_PIXELS + 2 + GAP_PIXELS
  return (
    <div ref={box} className="min-w-0">
      {!known && head.error !== null && <FailureNote error={head.error} onRetry={() => void head.refetch()} />}
      {!known && head.error === null && <Skeletons columns={columns} />}
      {known && rows.length === 0 && <Examples />}
      {known && rows.length > 0 && columns > 0 && (
        <VirtualList items={rows} keyOf={String} row_pixels={rowPixels} onEnd={loadMore} label={t('gallery')}>
          {(row) => <Row {...{ row, columns, pending, pages: list!.pages, total: pending.length + count }} />}
        </VirtualList>
      )}
      {tailError !== null && <FailureNote error={tailError} onRetry={loadMore} />}
      {known && count > 0 && list?.tail.has_more === false && count > columns * 3 && (
        <p className="pt-2 pb-6 text-center text-[0.8125rem] text-muted">{t('end')}</p>
      )}
    </div>
  )
}

type RowProps = { row: number; columns: number; pending: readonly Pending[]; pages: JobList; total: number }

const Row = memo(function Row({ row, columns, pending, pages, total }: RowProps) {
  const queries = useQueryClient()
  const poll = usePollMs()
  const places = Array.from({ length: Math.min(columns, total - row * columns) }, (_, at) => row * columns + at)
  const found = places.map((place) => (place < pending.length ? null : placeOf(pages, place - pending.length)))
  const needed = [...new Set(found.flatMap((place) => (place ? [place.page] : [])))]
  const results = useQueries({ queries: needed.map((page) => pageQuery(queries, pages[page]!.after, poll)) })
  const jobs = new Map(
    needed.map((page, at) => [page, jobsWithin(results[at]!.data?.data ?? [], pages[page + 1]?.after)]),
  )
  return (
    <div className="grid pb-4" style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`, gap: GAP_PIXELS }}>
      {places.map((place, at) => {
        const waiting = pending[place]
        if (waiting) return <PendingCard key={waiting.key} pending={waiting} />
        const where = found[at]
        const job = where && jobs.get(where.page)?.[where.within]
        return job ? <JobCard key={job.id} job={job} /> : <SkeletonCard key={`place-${place}`} />
      })}
    </div>
  )
})

/** The jobs of a page are for its rows: what surrounds them is drawn once. */
function isLoaded(): true {
  return true
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

function rowsOf(count: number, columns: number): readonly number[] {
  return columns === 0 ? [] : Array.from({ length: Math.ceil(count / columns) }, (_, row) => row)
}

/** Cards per row and their width in pixels; zero cards before the box was measured. */
function useColumns(box: RefObject<HTMLDivElement | null>) {
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const measured = box.current!
    setWidth(measured.clientWidth)
    const observer = new ResizeObserver(() => setWidth(measured.clientWidth))
    observer.observe(measured)
    return () => observer.disconnect()
  }, [box])
  if (width === 0) return { columns: 0, card_pixels: CARD_PIXELS_MIN }
  const columns = Math.max(1, Math.floor((width + GAP_PIXELS) / (CARD_PIXELS_MIN + GAP_PIXELS)))
  return { columns, card_pixels: (width - GAP_PIXELS * (columns - 1)) / columns }
}
