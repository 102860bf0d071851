import { skipToken, useQuery } from '@tanstack/react-query'
import { readLastFrameName } from '../../../server/videos/archive/clip-name.ts'
import { useLabelsOfPages } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useText } from '../../text/use-text.ts'
import { Link } from '../../ui/button.tsx'
import { beginningOf } from '../draft/prompt.ts'
import { useSubmittedFiles } from '../job/submitted-files.ts'
import { type VideoJob, videoPath } from '../jobs/job.ts'
import { useOrigin } from './use-origin.ts'

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

function useJobIfAny(id: string | null): VideoJob | undefined {
  return useQuery({
    queryKey: ['videos', 'job', id],
    queryFn: id === null ? skipToken : ({ signal }) => request<VideoJob>('GET', videoPath(id), { signal }),
  }).data
}
