import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ChevronLeft, ChevronRight } from 'lucide-react'
import { useState } from 'react'
import type { Page } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useText } from '../../text/use-text.ts'
import { useBackTo } from '../../ui/back.ts'
import { IconButton } from '../../ui/button.tsx'
import { isDeleting } from '../../ui/overlay/undo.tsx'
import { type Filter, filterOf } from '../gallery/filter.ts'
import { type VideoJob, videoPath } from '../jobs/job.ts'
import { useKeys } from './keys.ts'

/** Some may be about to be deleted. */
const READ = 5
/** A page of a search may be empty, and those behind it not. */
const PAGES_MAX = 20

/** To the videos before and after this one in the list that the person came from, newest first, by button and arrow key. */
export function Neighbors({ id }: { id: string }) {
  const t = useText('videos')
  const navigate = useNavigate()
  const back = useBackTo('/videos')
  const [filters] = useState(() => filterOf(back.filters()))
  const previous = useNeighbor(id, 'asc', filters)
  const next = useNeighbor(id, 'desc', filters)
  // In place of this one, so that the way back leads to the list.
  const open = (to: string | null) =>
    to !== null && void navigate({ to: '/videos/$id', params: { id: to }, replace: true, resetScroll: false })
  useKeys({ ArrowLeft: () => open(previous), ArrowRight: () => open(next) })
  return (
    <div className="flex gap-1" data-keeps-focus>
      <IconButton
        size="sm"
        variant="secondary"
        label={t('viewer.previous')}
        icon={<ChevronLeft />}
        aria-keyshortcuts="ArrowLeft"
        aria-disabled={previous === null || undefined}
        onClick={() => open(previous)}
      />
      <IconButton
        size="sm"
        variant="secondary"
        label={t('viewer.next')}
        icon={<ChevronRight />}
        aria-keyshortcuts="ArrowRight"
        aria-disabled={next === null || undefined}
        onClick={() => open(next)}
      />
    </div>
  )
}

function useNeighbor(id: string, order: 'asc' | 'desc', filters: Filter): string | null {
  const { data } = useQuery({
    queryKey: ['videos', 'neighbor', id, order, filters],
    async queryFn({ signal }) {
      let after: string | null = id
      for (let read = 0; after !== null && read < PAGES_MAX; read++) {
        const query = { ...filters, after, order, limit: READ }
        const page: Page<VideoJob> = await request('GET', '/v1/videos', { query, signal })
        if (page.data.length > 0) return page.data
        after = page.has_more ? page.last_id : null
      }
      return []
    },
    select: (videos) => videos.find((job) => !isDeleting(videoPath(job.id)))?.id ?? null,
  })
  return data ?? null
}
