import type { ReactNode } from 'react'
import { useVideoModels } from '../../api/video-models.ts'
import { useText } from '../../text/use-text.ts'
import { Code, CopyButton } from '../../ui/data/code.tsx'
import { DateTime, Money } from '../../ui/data/format.tsx'
import { Card } from '../../ui/layout.tsx'
import { RULES, SLOTS } from '../draft/attachments.ts'
import { readSentInputs } from '../draft/sent-inputs.ts'
import { MediaPreview } from '../inputs/preview.tsx'
import { isRunning, type VideoJob } from '../jobs/job.ts'
import { clockTime } from './status.tsx'

/** The properties of a job: settings, cost and times. */
export function JobDetails({ job }: { job: VideoJob }) {
  const t = useText('videos')
  const models = useVideoModels().data
  const model = models?.find(({ id }) => id === job.model)
  const { created_at, completed_at, expires_at } = job
  return (
    <Card title={t('settings')}>
      <dl className="flex flex-col gap-2.5 text-sm">
        <Setting name={t('setting.model')}>{model?.name ?? job.model}</Setting>
        <Setting name={t('setting.seconds')}>{t('seconds_value', { n: job.seconds })}</Setting>
        <Setting name={t('setting.ratio')}>{job.aspect_ratio === 'Auto' ? t('auto') : job.aspect_ratio}</Setting>
        <Setting name={t('setting.resolution')}>768p</Setting>
        <SentFiles id={job.id} />
        <Setting name={t('setting.cost')}>
          <Money amount={job.cost} currency={job.currency} digits="exact" /> <CostNote job={job} />
        </Setting>
        <Setting name={t('setting.created')}>
          <DateTime at={created_at} />
        </Setting>
        {completed_at !== null && (
          <>
            <Setting name={t('setting.completed')}>
              <DateTime at={completed_at} />
            </Setting>
            <Setting name={t('setting.took')}>{clockTime(completed_at - created_at)}</Setting>
          </>
        )}
        {expires_at !== null && (
          <Setting name={t('setting.expires')}>
            <DateTime at={expires_at} />
          </Setting>
        )}
        <div className="flex items-center justify-between gap-2 border-t border-line pt-2.5">
          <dt className="sr-only">{t('setting.id')}</dt>
          <dd className="min-w-0 text-[0.8125rem]">
            <Code>{job.id}</Code>
          </dd>
          <dd className="-my-1 -me-2">
            <CopyButton text={job.id} />
          </dd>
        </div>
      </dl>
    </Card>
  )
}

function Setting({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex items-baseline justify-between gap-4">
      <dt className="shrink-0 text-muted">{name}</dt>
      <dd className="min-w-0 text-end tabular-nums">{children}</dd>
    </div>
  )
}

function CostNote({ job }: { job: VideoJob }) {
  const t = useText('videos')
  const note = job.status === 'completed' ? 'cost_charged' : isRunning(job) ? 'cost_held' : 'cost_free'
  return <span className="text-muted">{t(note)}</span>
}

/** The files the job was submitted with, if it was submitted from this browser. */
function SentFiles({ id }: { id: string }) {
  const t = useText('videos')
  const sent = readSentInputs(id)?.files
  const slots = SLOTS.filter((slot) => sent?.[slot]?.length)
  if (slots.length === 0) return null
  return (
    <div className="flex items-start justify-between gap-4">
      <dt className="shrink-0 text-muted">{t('setting.files')}</dt>
      <dd className="flex min-w-0 flex-wrap justify-end gap-1.5">
        {slots.flatMap((slot) =>
          sent![slot]!.map((file) => (
            <span
              key={`${slot}-${file.id}`}
              title={`${t(`slot.${slot}`)}: ${file.filename}`}
              className="size-10 overflow-hidden rounded-md border border-line bg-sunken"
            >
              <MediaPreview purpose={RULES[slot].purpose} url={`/v1/files/${encodeURIComponent(file.id)}/content`} />
            </span>
          )),
        )}
      </dd>
    </div>
  )
}
