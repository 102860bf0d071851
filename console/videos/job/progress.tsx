import { Ban, Check, CircleAlert } from 'lucide-react'
import { useText } from '../../text/use-text.ts'
import { cx } from '../../ui/class-names.ts'
import { useFormat } from '../../ui/data/format.tsx'
import { ProgressBar } from '../../ui/data/progress.tsx'
import { Card, EmptyState } from '../../ui/layout.tsx'
import { useEstimateText } from '../jobs/estimate.ts'
import type { VideoJob } from '../jobs/job.ts'
import { Elapsed } from './status.tsx'
import { PlaceholderThumbnail } from './thumbnail.tsx'

const STEPS = ['moderating', 'translating', 'queued', 'in_progress'] as const

/** The progress of a running job, step by step. */
export function RunningJob({ job }: { job: VideoJob }) {
  const t = useText('videos')
  const at = (STEPS as readonly string[]).indexOf(job.status)
  const now = STEPS[at] ?? 'other'
  const estimate = useEstimateText(job)
  return (
    <div className="flex flex-col gap-4">
      <div className="aspect-video max-h-[46dvh] overflow-hidden rounded-xl border border-line">
        <PlaceholderThumbnail id={job.id} status={job.status} />
      </div>
      <Card>
        <ol className="grid grid-cols-2 gap-3 sm:grid-cols-4">
          {STEPS.map((step, index) => (
            <li
              key={step}
              aria-current={index === at ? 'step' : undefined}
              className={cx(
                'flex items-start gap-2 border-t-2 pt-2 text-[0.8125rem]',
                index < at && 'border-accent text-muted',
                index === at && 'border-accent font-medium',
                index > at && 'border-line text-muted',
              )}
            >
              {index < at && <Check aria-hidden className="mt-0.5 size-3.5 shrink-0 text-accent" />}
              {t(`step.${step}`)}
            </li>
          ))}
        </ol>
        <div className="mt-4 flex flex-col gap-2">
          <ProgressBar share={job.progress / 100} label={t('progress')} />
          <p className="flex flex-wrap justify-between gap-x-4 gap-y-1 text-[0.8125rem] text-muted">
            <span>
              {t(`status_long.${now}`)} <span data-estimate>{estimate}</span>
            </span>
            <span>
              {t('elapsed')} <Elapsed since={job.created_at} />
            </span>
          </p>
        </div>
      </Card>
    </div>
  )
}

const WORDED = [
  'moderation_blocked',
  'moderation_unavailable',
  'translation_unavailable',
  'queue_timeout',
  'render_timeout',
  'render_failed',
  'invalid_reference_media',
  'reference_unavailable',
  'internal_error',
] as const

/** Why a job failed or was canceled, that it cost nothing, and what to do next. */
export function EndedJob({ job, action }: { job: VideoJob; action: React.ReactNode }) {
  const t = useText('videos')
  const code = failureOfJob(job)
  const reason = useFailureReason(job)
  const failed = job.status === 'failed'
  return (
    <Card>
      <EmptyState
        icon={failed ? <CircleAlert /> : <Ban />}
        title={failed ? reason : t('canceled_long')}
        action={action}
      >
        {failed && <p>{t(`failure.${code}.next`)}</p>}
        <p>{t('not_charged')}</p>
        {job.error && <code className="text-xs select-all">{job.error.code}</code>}
      </EmptyState>
    </Card>
  )
}

/** Why a job failed, in one sentence. */
export function useFailureReason(job: VideoJob): string {
  const t = useText('videos')
  const { list } = useFormat()
  const categories = job.error?.categories
  if (categories) return t('blocked_categories', { categories: list(categories) })
  return t(`failure.${failureOfJob(job)}.what`)
}

/** What the texts of a failure go by. */
function failureOfJob(job: VideoJob) {
  const worded = WORDED.find((each) => each === job.error?.code) ?? 'other'
  return worded === 'invalid_reference_media' && hasOnlyImages(job) ? 'invalid_image' : worded
}

/** Then the invalid file is an image. */
function hasOnlyImages({ image_reference, references }: VideoJob): boolean {
  return image_reference !== null || (references !== null && !references.videos && !references.audio)
}
