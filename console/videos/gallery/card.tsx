import { Link } from '@tanstack/react-router'
import { memo, Suspense, use } from 'react'
import type { Maker } from '../../../server/console/schema.ts'
import type { Labels } from '../../../server/videos/labels/schema.ts'
import { useSession } from '../../api/session.ts'
import { useText } from '../../text/use-text.ts'
import { StatusBadge } from '../../ui/data/badge.tsx'
import { DateTime, Money } from '../../ui/data/format.tsx'
import { ProgressBar } from '../../ui/data/progress.tsx'
import { Skeleton } from '../../ui/layout.tsx'
import { readablePrompt } from '../draft/prompt.ts'
import { useFailureReason } from '../job/progress.tsx'
import { Elapsed, JobStatus } from '../job/status.tsx'
import { JobThumbnail, PlaceholderThumbnail } from '../job/thumbnail.tsx'
import { isRunning, type VideoJob } from '../jobs/job.ts'
import type { Pending } from '../jobs/pending.ts'
import { Star } from '../labels/lazy.ts'
import { SelectionContext } from '../select/selection.ts'

/** Height below the thumbnail in pixels, the same for all cards so that nothing moves; more where the reader spaces text out. */
export const CARD_FOOT_PIXELS = 124

/** Most characters of a prompt on a card: two lines hold fewer, and screen readers read no more. */
const SHOWN_MAX = 200

const CARD = 'group block min-w-0 overflow-hidden rounded-xl border border-line bg-surface shadow-raised'

type JobCardProps = { job: VideoJob; maker: Maker | undefined; labels: Labels | undefined }

/** A job in the gallery, linked to its page. `maker`: who submitted it, once that is known, as `labels`. */
export const JobCard = memo(function JobCard({ job, maker, labels }: JobCardProps) {
  const selection = use(SelectionContext)
  const name = labels?.name ?? shownPrompt(job.prompt)
  return (
    <div className="relative min-w-0" data-card={job.id}>
      <div className="h-full" inert={selection !== null}>
        <LinkedCard job={job} maker={maker} labels={labels} />
      </div>
      {selection ? (
        <selection.Box job={job} name={name} />
      ) : (
        <Suspense>
          {labels && <Star {...{ labels, name }} size="sm" className="absolute end-2 top-2 bg-shade! text-on-shade!" />}
        </Suspense>
      )}
    </div>
  )
})

function LinkedCard({ job, maker, labels }: JobCardProps) {
  const t = useText('videos')
  const runs = isRunning(job)
  return (
    <Link
      to="/videos/$id"
      params={{ id: job.id }}
      data-job-status={job.status}
      className={`${CARD} h-full transition-[border-color,box-shadow] hover:border-line-strong hover:shadow-float`}
    >
      <span className="relative block aspect-video overflow-hidden bg-sunken">
        <JobThumbnail job={job} />
        {job.status === 'failed' && <Reason job={job} />}
        {!runs && job.status === 'completed' && <Length seconds={job.seconds} />}
        {job.status === 'in_progress' && (
          <span className="absolute inset-x-3 bottom-3">
            <ProgressBar share={job.progress / 100} label={t('progress')} />
          </span>
        )}
      </span>
      <CardFoot
        prompt={job.prompt}
        name={labels?.name}
        tags={labels?.tags}
        maker={maker ? (maker.name ?? maker.user_id) : ''}
        status={<JobStatus job={job} short />}
        time={runs ? <Elapsed since={job.created_at} /> : <DateTime at={job.created_at} relative />}
        cost={
          job.status === 'completed' || runs ? (
            <Money amount={job.cost} currency={job.currency} />
          ) : (
            <span>
              <s>
                <Money amount={job.cost} currency={job.currency} />
              </s>
              <span className="sr-only"> {t('cost_free')}</span>
            </span>
          )
        }
      />
    </Link>
  )
}

/** The card of a request that is being submitted. */
export function PendingCard({ pending }: { pending: Pending }) {
  const t = useText('videos')
  const { user } = useSession()
  return (
    <div className={CARD}>
      <span className="relative block aspect-video overflow-hidden bg-sunken">
        <PlaceholderThumbnail id={pending.key} status="sending" />
      </span>
      <CardFoot
        prompt={pending.request.prompt}
        maker={user.name}
        status={
          <StatusBadge tone="accent" live>
            {t('status.sending')}
          </StatusBadge>
        }
        time={<Elapsed since={pending.at} />}
        cost={<Money amount={pending.cost} currency={pending.currency} />}
      />
    </div>
  )
}

/** Placeholder for the card of a job that loads. */
export function SkeletonCard() {
  return (
    <div className={CARD} aria-hidden>
      <Skeleton className="aspect-video rounded-none!" />
      <div className="flex flex-col gap-2 px-3.5 py-3" style={{ height: CARD_FOOT_PIXELS }}>
        <Skeleton className="h-4 w-11/12" />
        <Skeleton className="h-4 w-2/3" />
        <Skeleton className="mt-auto h-4 w-1/2" />
      </div>
    </div>
  )
}

type FootProps = Record<'status' | 'time' | 'cost', React.ReactNode> & {
  prompt: string
  name?: string | null | undefined
  tags?: readonly string[] | undefined
  maker: string
}

function CardFoot({ prompt, name, tags = [], maker, status, time, cost }: FootProps) {
  const t = useText('videos')
  return (
    <span className="flex flex-col px-3.5 pt-2.5 pb-3" style={{ minHeight: CARD_FOOT_PIXELS }}>
      {name && <span className="line-clamp-1 text-sm font-semibold [overflow-wrap:anywhere]">{name}</span>}
      <span className={`${name ? 'line-clamp-1' : 'line-clamp-2'} text-sm [overflow-wrap:anywhere]`}>
        {shownPrompt(prompt)}
      </span>
      <span className="mt-1 flex justify-between gap-x-2 text-xs text-muted tabular-nums">
        <span className="truncate">{maker !== '' && t('find.by', { name: maker })}</span>
        <span className="shrink-0">{time}</span>
      </span>
      {tags.length > 0 && (
        <span className="mt-1 truncate text-xs">
          {tags.map((tag) => (
            <span key={tag} className="me-1 rounded bg-sunken px-1">
              {tag}
            </span>
          ))}
        </span>
      )}
      <span className="mt-auto flex flex-wrap items-center justify-between gap-x-2 pt-1 text-xs text-muted tabular-nums">
        {status}
        {cost}
      </span>
    </span>
  )
}

function shownPrompt(prompt: string): string {
  return readablePrompt(prompt).slice(0, SHOWN_MAX)
}

/** Why a job failed, in one line. */
function Reason({ job }: { job: VideoJob }) {
  const reason = useFailureReason(job)
  return (
    <span title={reason} className="absolute inset-x-3 bottom-2.5 truncate text-center text-xs text-muted">
      {reason}
    </span>
  )
}

function Length({ seconds }: { seconds: number }) {
  const t = useText('videos')
  return (
    <span className="absolute end-2 bottom-2 rounded-md bg-shade px-1.5 py-0.5 text-xs text-on-shade tabular-nums">
      {t('seconds_value', { n: seconds })}
    </span>
  )
}
