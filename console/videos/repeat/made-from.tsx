import { readLastFrameName } from '../../../server/videos/archive/clip-name.ts'
import { useLabelsOfPages } from '../../api/queries.ts'
import { useText } from '../../text/use-text.ts'
import { Link } from '../../ui/button.tsx'
import { useSubmittedFiles } from '../job/submitted-files.ts'
import type { VideoJob } from '../jobs/job.ts'

/** The clip whose last frame this one was made from, as far as the names of its files say. Without a link once that one is gone. */
export function MadeFrom({ job }: { job: VideoJob }) {
  const t = useText('videos/repeat')
  const origins = useSubmittedFiles(job).map(({ file }) => file && readLastFrameName(file.filename))
  const origin = origins.find((each) => each)
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
