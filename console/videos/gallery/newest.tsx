import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ArrowDown } from 'lucide-react'
import { usePollMs } from '../../api/live.ts'
import { useLabelsOfPages } from '../../api/queries.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { beginningOf } from '../draft/prompt.ts'
import { JobStatus } from '../job/status.tsx'
import { JobThumbnail } from '../job/thumbnail.tsx'
import { pageQuery } from '../jobs/job-cache.ts'

const TITLE_CHARACTERS = 120

/** The newest video, above the form where the gallery is below it, and the way down to the others. Nothing where there is none. */
export function NewestVideo({ onShowAll }: { onShowAll: () => void }) {
  const t = useText('videos')
  const queries = useQueryClient()
  const { data: job } = useQuery({ ...pageQuery(queries, null, usePollMs()), select: ({ data }) => data[0] })
  const name = useLabelsOfPages([job ? [job.id] : []]).get(job?.id ?? '')?.name
  if (!job) return null
  return (
    <section aria-label={t('newest')} className="mb-5 flex flex-wrap items-center gap-3 xl:hidden">
      <Link
        to="/videos/$id"
        params={{ id: job.id }}
        className="flex min-w-0 grow basis-56 items-center gap-3 rounded-xl border border-line bg-surface pe-3 shadow-raised hover:border-line-strong"
      >
        <span className="aspect-video w-24 shrink-0 overflow-hidden rounded-s-xl bg-sunken">
          <JobThumbnail job={job} />
        </span>
        <span className="flex min-w-0 flex-col items-start gap-1 py-1.5">
          <span className="line-clamp-1 text-sm [overflow-wrap:anywhere]">
            {beginningOf(name ?? job.prompt, TITLE_CHARACTERS)}
          </span>
          <JobStatus job={job} />
        </span>
      </Link>
      <Button size="sm" variant="ghost" icon={<ArrowDown />} onClick={onShowAll}>
        {t('show_all')}
      </Button>
    </section>
  )
}
