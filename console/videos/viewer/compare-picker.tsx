import { Star } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { Labels } from '../../../server/videos/labels/schema.ts'
import { useLabelsOfPages, usePagedList } from '../../api/queries.ts'
import { useVideoModels } from '../../api/video-models.ts'
import { useText } from '../../text/use-text.ts'
import { DateTime } from '../../ui/data/format.tsx'
import { LoadMore } from '../../ui/data/load-more.tsx'
import { FailureNote } from '../../ui/failure-note.tsx'
import { Skeleton } from '../../ui/layout.tsx'
import { Dialog } from '../../ui/overlay/dialog.tsx'
import { useDeleting } from '../../ui/overlay/undo.tsx'
import { beginningOf } from '../draft/prompt.ts'
import { SettledInput } from '../gallery/settled-input.tsx'
import { JobThumbnail } from '../job/thumbnail.tsx'
import { type VideoJob, videoPath } from '../jobs/job.ts'

const PROMPT_CHARACTERS = 120
/** Of the list, and of one question for names and favorites. */
const PAGE = 24

type PickerProps = { job: VideoJob; onClose: () => void; onChoose: (id: string) => void }

/** Picks another finished video, newest first, or one that is searched for. */
export function ComparePicker({ job, onClose, onChoose }: PickerProps) {
  const t = useText('videos')
  const [search, setSearch] = useState('')
  const query = { status: 'completed', limit: PAGE, ...(search !== '' && { search }) }
  const list = usePagedList<VideoJob>(['videos', 'finished'], '/v1/videos', query)
  const labels = useLabelsOfPages(pagesOf(list.rows?.map(({ id }) => id) ?? []))
  const deleting = useDeleting()
  const others = list.rows?.filter(({ id }) => id !== job.id && !deleting.has(videoPath(id))) ?? null
  // A page of a search may be empty, and those behind it not.
  const looksOn = others?.length === 0 && list.has_more && !list.is_loading_more && list.error === null
  const { loadMore } = list
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each page.
  useEffect(() => {
    if (looksOn) loadMore()
  }, [looksOn])
  return (
    <Dialog
      open
      size="xl"
      onOpenChange={(open) => !open && onClose()}
      title={t('viewer.compare_with')}
      description={t('viewer.compare_description')}
    >
      <SettledInput
        type="search"
        aria-label={t('find.search')}
        placeholder={t('find.search')}
        maxLength={200}
        value={search}
        onSettle={setSearch}
        className="mb-3"
      />
      {list.error ? <FailureNote error={list.error} onRetry={list.reload} /> : null}
      {others?.length === 0 && !list.has_more && (
        <p role="status" className="py-10 text-center text-sm text-muted">
          {t(search === '' ? 'viewer.compare_none' : 'find.none_title')}
        </p>
      )}
      <ul className="grid grid-cols-[repeat(auto-fill,minmax(9rem,1fr))] gap-2">
        {others === null && !list.error && [...Array(6).keys()].map((each) => <Skeleton key={each} className="h-36" />)}
        {others?.map((other) => (
          <li key={other.id}>
            <Choice job={other} labels={labels.get(other.id)} onChoose={() => onChoose(other.id)} />
          </li>
        ))}
      </ul>
      <LoadMore list={list} size="sm" />
    </Dialog>
  )
}

function Choice({ job, labels, onChoose }: { job: VideoJob; labels: Labels | undefined; onChoose: () => void }) {
  const t = useText('videos')
  const clips = useText('videos/clips')
  const model = useVideoModels().data?.find(({ id }) => id === job.model)?.name ?? job.model
  return (
    <button
      type="button"
      onClick={onChoose}
      className="flex size-full flex-col rounded-lg border border-line p-1.5 text-start hover:bg-hover"
    >
      <span className="relative block aspect-video w-full overflow-hidden rounded-md bg-sunken">
        <JobThumbnail job={job} />
        {labels?.favorite && (
          <span
            role="img"
            aria-label={clips('filter_favorite')}
            className="absolute end-1 top-1 rounded-md bg-shade p-1 text-on-shade [&_svg]:size-3.5"
          >
            <Star className="fill-current" />
          </span>
        )}
      </span>
      {labels?.name && (
        <span className="mt-1 line-clamp-1 text-xs font-semibold [overflow-wrap:anywhere]">{labels.name}</span>
      )}
      <span className={`mt-1 ${labels?.name ? 'line-clamp-1' : 'line-clamp-2'} text-xs [overflow-wrap:anywhere]`}>
        {beginningOf(job.prompt, PROMPT_CHARACTERS)}
      </span>
      <span className="mt-auto flex w-full flex-wrap gap-x-2 pt-1 text-xs text-muted tabular-nums">
        <span className="w-full truncate">{model}</span>
        <span>{job.aspect_ratio === 'Auto' ? t('auto') : job.aspect_ratio}</span>
        <DateTime at={job.created_at} relative />
      </span>
    </button>
  )
}

function pagesOf(ids: readonly string[]): string[][] {
  return Array.from({ length: Math.ceil(ids.length / PAGE) }, (_, at) => ids.slice(at * PAGE, (at + 1) * PAGE))
}
