import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { ArrowLeft, Clapperboard } from 'lucide-react'
import { lazy, Suspense } from 'react'
import { failureOf } from '../../api/failure.ts'
import { useLabelsOfPages } from '../../api/queries.ts'
import { withTexts } from '../../text/languages.ts'
import { useText } from '../../text/use-text.ts'
import { useBackTo } from '../../ui/back.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/data/code.tsx'
import { FailureNote, Note } from '../../ui/failure-note.tsx'
import { Card, EmptyState, PageHeader, Skeleton, usePageTitle } from '../../ui/layout.tsx'
import { useDeleting } from '../../ui/overlay/undo.tsx'
import { useTitleFocus } from '../../ui/title-focus.ts'
import { readablePrompt } from '../draft/prompt.ts'
import { isRunning, type VideoJob, videoPath } from '../jobs/job.ts'
import { useJob } from '../jobs/job-cache.ts'
import { Star } from '../labels/lazy.ts'
import { Neighbors } from '../viewer/neighbors.tsx'
import { VideoActions } from './actions.tsx'
import { JobDetails } from './details.tsx'
import { VideoPlayer } from './player.tsx'
import { EndedJob, RunningJob } from './progress.tsx'
import { JobStatus } from './status.tsx'
import { useUseAgain } from './use-again.ts'

const EditLabels = lazy(() =>
  withTexts('videos/clips', import('../labels/edit-labels.tsx')).then((module) => ({ default: module.EditLabels })),
)
const RepeatActions = lazy(() =>
  withTexts('videos/repeat', import('../repeat/repeat-actions.tsx')).then((module) => ({
    default: module.RepeatActions,
  })),
)
const Compare = lazy(() => import('../viewer/compare.tsx').then((module) => ({ default: module.Compare })))

/** The page of one video: player, progress, or why it failed; with another one in its address, both side by side. */
export function VideoPage() {
  const { id } = useParams({ from: '/shell/videos/$id' })
  const { with: other } = useSearch({ from: '/shell/videos/$id' })
  const { data: job, error, refetch } = useJob(id)
  const isDeleted = useDeleting().has(videoPath(id))
  if (typeof other === 'string' && job?.status === 'completed' && !isDeleted)
    return <Comparison job={job} other={other} />
  return (
    <>
      <div className="mb-3 flex items-center justify-between gap-2">
        <BackLink />
        <Neighbors id={id} />
      </div>
      {isDeleted ? (
        <MissingVideo />
      ) : job ? (
        <Video job={job} />
      ) : (
        <NoVideo error={error} onRetry={() => void refetch()} />
      )}
    </>
  )
}

/** Two clips with one playhead, once both are read. */
function Comparison({ job, other }: { job: VideoJob; other: string }) {
  const t = useText('videos')
  const navigate = useNavigate()
  const second = useJob(other)
  const isDeleted = useDeleting().has(videoPath(other))
  const end = () => void navigate({ to: '/videos/$id', params: { id: job.id }, search: {}, replace: true })
  const isMissing = second.error !== null || isDeleted || (second.data && second.data.status !== 'completed')
  return (
    <>
      <div className="mb-3">
        <BackLink />
      </div>
      {isMissing ? (
        <>
          <PageHeader title={t('viewer.compare_title')} />
          <Note tone="warning">{t('viewer.compare_missing')}</Note>
          <Button className="mt-4" onClick={end}>
            {t('viewer.compare_end')}
          </Button>
        </>
      ) : (
        <Suspense fallback={<Skeleton className="h-80 w-full rounded-xl" />}>
          {second.data ? (
            <Compare jobs={[job, second.data]} onEnd={end} />
          ) : (
            <Skeleton className="h-80 w-full rounded-xl" />
          )}
        </Suspense>
      )}
    </>
  )
}

function BackLink() {
  const t = useText('videos')
  const { onClick } = useBackTo('/videos')
  return (
    <ButtonLink to="/videos" onClick={onClick} variant="ghost" size="sm" icon={<ArrowLeft />} className="-ms-2.5">
      {t('back')}
    </ButtonLink>
  )
}

function Video({ job }: { job: VideoJob }) {
  const t = useText('videos')
  const labels = useLabelsOfPages([[job.id]]).get(job.id)
  const title = labels?.name ?? readablePrompt(job.prompt.trim().split('\n')[0]!)
  usePageTitle(title.slice(0, 60))
  const heading = useTitleFocus()
  return (
    <>
      <header className="mb-5 flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
        <div className="flex min-w-0 grow basis-72 items-center gap-3">
          <h1
            ref={heading}
            tabIndex={-1}
            data-page-title
            className="line-clamp-2 text-xl font-semibold tracking-tight"
            title={title}
          >
            {title}
          </h1>
          <span aria-live="polite">
            <JobStatus job={job} />
          </span>
        </div>
        <div className="flex flex-wrap items-center gap-2">
          <Suspense>{labels && <Star labels={labels} name={title} />}</Suspense>
          <VideoActions job={job} name={labels?.name ?? null} />
        </div>
      </header>
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 xl:grid-cols-[minmax(0,1fr)_22rem]">
        <VideoContent job={job} title={title} />
        <div className="flex min-w-0 flex-col gap-6">
          <Card
            title={t('prompt')}
            actions={
              <span className="-my-1.5 -me-2">
                <CopyButton text={job.prompt} />
              </span>
            }
          >
            <p className="max-h-80 overflow-y-auto text-sm whitespace-pre-wrap [overflow-wrap:anywhere]">
              {job.prompt}
            </p>
          </Card>
          <Suspense fallback={<Skeleton className="h-44 w-full rounded-xl" />}>
            {labels && <EditLabels key={job.id} labels={labels} />}
          </Suspense>
          <JobDetails job={job} />
        </div>
      </div>
    </>
  )
}

function VideoContent({ job, title }: { job: VideoJob; title: string }) {
  const t = useText('videos')
  const fillStudio = useUseAgain()
  if (job.status === 'completed')
    return (
      <div className="flex min-w-0 flex-col gap-4">
        <VideoPlayer key={job.id} job={job} title={title} />
        <Suspense fallback={<Skeleton className="h-9 w-64" />}>
          <RepeatActions job={job} />
        </Suspense>
      </div>
    )
  if (isRunning(job)) return <RunningJob job={job} />
  const again = <Button onClick={() => void fillStudio(job)}>{t('use_again')}</Button>
  const actions = (
    <Suspense fallback={again}>
      <RepeatActions job={job}>{again}</RepeatActions>
    </Suspense>
  )
  return <EndedJob job={job} action={actions} />
}

function NoVideo({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const t = useText('videos')
  if (error === null)
    return (
      <>
        <Skeleton className="mb-6 h-7 w-2/3" />
        <div className="grid gap-6 xl:grid-cols-[minmax(0,1fr)_22rem]">
          <Skeleton className="aspect-video w-full rounded-xl" />
          <Skeleton className="h-80 w-full rounded-xl" />
        </div>
      </>
    )
  if (failureOf(error).status !== 404)
    return (
      <>
        <PageHeader title={t('title')} />
        <FailureNote error={error} onRetry={onRetry} />
      </>
    )
  return <MissingVideo />
}

function MissingVideo() {
  const t = useText('videos')
  return (
    <>
      <PageHeader title={t('title')} />
      <EmptyState
        icon={<Clapperboard />}
        title={t('missing_title')}
        action={
          <ButtonLink to="/videos" variant="primary">
            {t('back')}
          </ButtonLink>
        }
      >
        {t('missing')}
      </EmptyState>
    </>
  )
}
