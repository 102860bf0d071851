import { skipToken, useQuery } from '@tanstack/react-query'
import type { VideoOrigin } from '../../../server/console/schema.ts'
import { readLastFrameName } from '../../../server/videos/archive/clip-name.ts'
import { useLabelsOfPages } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useText } from '../../text/use-text.ts'
import { Link } from '../../ui/button.tsx'
import { beginningOf } from '../draft/prompt.ts'
import { useSubmittedFiles } from '../job/submitted-files.ts'
import { type VideoJob, videoPath } from '../jobs/job.ts'

/** Of a title. */
const TITLE_CHARACTERS = 60

/** The clip that this one was made from: as it was noted, else as far as the names of its files say. Without a link once that one is gone. */
export function MadeFrom({ job }: { job: VideoJob }) {
  const t = useText('videos/repeat')
  const origins = useSubmittedFiles(job).map(({ file }) => file && readLastFrameName(file.filename))
  const { made_from } = useOrigin(job.id)
  const named = origins.find((each) => each)
  const noted = useJobIfAny(made_from)
  const origin = noted ? { id: noted.id, title: beginningOf(noted.prompt, TITLE_CHARACTERS) } : named
  const labels = useLabelsOfPages([origin ? [origin.id] : []]).get(origin?.id ?? '')
  if (!origin) return null
  const title = labels?.name || origin.title || t('untitled')
  return (
    <div className="flex items-baseline justify-between gap-4">
      <dt className="shrink-0 text-muted">{t('made_from')}</dt>
      <dd className="min-w-0 text-end [overflow-wrap:anywhere]">
        {labels ? (
          <Link to="/videos/$id" params={{ id: origin.id }}>
            {title}
          </Link>
        ) : (
          title
        )}
      </dd>
    </div>
  )
}

/** That a failed clip was tried again, with the way to the newest attempt; nothing for others. */
export function TriedAgain({ job }: { job: VideoJob }) {
  const t = useText('videos/repeat')
  const { followed_by } = useOrigin(job.id)
  if (job.status !== 'failed' || !followed_by) return null
  return (
    <p className="w-full text-sm">
      <Link to="/videos/$id" params={{ id: followed_by }}>
        {t('tried_again')}
      </Link>
    </p>
  )
}

function useOrigin(id: string): Pick<VideoOrigin, 'made_from' | 'followed_by'> {
  const { data } = useQuery({
    queryKey: ['videos', 'origin', id],
    queryFn: ({ signal }) =>
      request<VideoOrigin>('GET', `/console/videos/${encodeURIComponent(id)}/origin`, { signal }),
    staleTime: 0,
  })
  return data ?? { made_from: null, followed_by: null }
}

function useJobIfAny(id: string | null): VideoJob | undefined {
  return useQuery({
    queryKey: ['videos', 'job', id],
    queryFn: id === null ? skipToken : ({ signal }) => request<VideoJob>('GET', videoPath(id), { signal }),
  }).data
}
