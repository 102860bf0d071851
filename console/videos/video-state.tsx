import { Check } from 'lucide-react'
import { useText } from '../text/use-text.ts'
import { cx } from '../ui/class-names.ts'
import { Note } from '../ui/failure-note.tsx'
import { Card } from '../ui/layout.tsx'
import { ProgressBar } from '../ui/progress.tsx'
import { QuietPicture } from './job-picture.tsx'
import { Elapsed } from './job-status.tsx'
import type { VideoJob } from './jobs.ts'
import { VideoFrame } from './video-player.tsx'

const STEPS = ['moderating', 'translating', 'queued', 'in_progress'] as const

/** How far a video in the making is, step by step. */
export function VideoInTheMaking({ job }: { job: VideoJob }) {
  const t = useText('videos')
  const at = STEPS.findIndex((step) => step === job.status)
  const now = STEPS[at] ?? 'other'
  return (
    <div className="flex flex-col gap-4">
      <VideoFrame job={job}>
        <QuietPicture id={job.id} status={job.status} />
      </VideoFrame>
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
              {t(`status.${step}`)}
            </li>
          ))}
        </ol>
        <div className="mt-4 flex flex-col gap-2">
          <ProgressBar share={job.status === 'in_progress' ? job.progress / 100 : null} label={t('progress')} />
          <p className="flex flex-wrap justify-between gap-x-4 gap-y-1 text-[0.8125rem] text-muted">
            <span>{t(`status_long.${now}`)}</span>
            <span>
              {t('elapsed')} <Elapsed since={job.created_at} />
            </span>
          </p>
        </div>
      </Card>
    </div>
  )
}

const TOLD = [
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

/** Why there is no video, that it cost nothing, and what to do about it. */
export function VideoNotMade({ job, action }: { job: VideoJob; action: React.ReactNode }) {
  const t = useText('videos')
  const code = TOLD.find((each) => each === job.error?.code) ?? 'other'
  return (
    <div className="flex flex-col gap-4">
      <VideoFrame job={job}>
        <QuietPicture id={job.id} status={job.status} />
      </VideoFrame>
      <Note tone={job.status === 'failed' ? 'danger' : 'info'} action={action}>
        <p className="font-medium">{job.status === 'failed' ? t(`failure.${code}.what`) : t('canceled_long')}</p>
        <p className="mt-0.5">
          {job.status === 'failed' && t(`failure.${code}.next`)} {t('not_charged')}
        </p>
      </Note>
    </div>
  )
}
