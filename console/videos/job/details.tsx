import { lazy, type ReactNode, Suspense } from 'react'
import { useMakers } from '../../api/queries.ts'
import { useVideoModels } from '../../api/video-models.ts'
import { withTexts } from '../../text/languages.ts'
import { useText } from '../../text/use-text.ts'
import { cx } from '../../ui/class-names.ts'
import { Code, CopyButton } from '../../ui/data/code.tsx'
import { DateTime, Money } from '../../ui/data/format.tsx'
import { useFileName } from '../../ui/file-name.ts'
import { Card } from '../../ui/layout.tsx'
import { RULES } from '../draft/attachments.ts'
import { MediaPreview } from '../inputs/preview.tsx'
import { isRunning, type VideoJob } from '../jobs/job.ts'
import { clockTime } from './status.tsx'
import { useSubmittedFiles } from './submitted-files.ts'

const MadeFrom = lazy(() =>
  withTexts('videos/repeat', import('../repeat/made-from.tsx')).then((module) => ({ default: module.MadeFrom })),
)

/** The properties of a job: settings, cost and times. */
export function JobDetails({ job }: { job: VideoJob }) {
  const t = useText('videos')
  const models = useVideoModels().data
  const model = models?.find(({ id }) => id === job.model)
  const maker = useMakers([job.id]).get(job.id)
  const { created_at, completed_at, expires_at } = job
  return (
    <Card title={t('settings')}>
      <dl className="flex flex-col gap-2.5 text-sm">
        <Setting name={t('model')}>{model?.name ?? job.model}</Setting>
        <Setting name={t('seconds')}>{t('seconds_value', { n: job.seconds })}</Setting>
        <Setting name={t('ratio')}>{job.aspect_ratio === 'Auto' ? t('auto') : job.aspect_ratio}</Setting>
        <Setting name={t('setting.resolution')}>768p</Setting>
        <SubmittedFiles job={job} />
        <Suspense>
          <MadeFrom job={job} />
        </Suspense>
        <Setting name={t('cost')}>
          <Money amount={job.cost} currency={job.currency} digits="exact" /> <CostNote job={job} />
        </Setting>
        <Setting name={t('setting.maker')}>
          <span title={maker?.user_id} className="[overflow-wrap:anywhere]">
            {maker ? (maker.name ?? maker.user_id) : '…'}
          </span>
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

/** The files the job was submitted with; one that is gone says so. */
function SubmittedFiles({ job }: { job: VideoJob }) {
  const t = useText('videos')
  const shownName = useFileName()
  const files = useSubmittedFiles(job)
  if (files.length === 0) return null
  const nameOf = ({ slot, file }: (typeof files)[number]) =>
    file === null
      ? t('file_gone', { slot: t(`slot.${slot}`) })
      : `${t(`slot.${slot}`)}: ${file ? shownName(file.filename) : '…'}`
  return (
    <div className="flex items-start justify-between gap-4">
      <dt className="shrink-0 text-muted">{t('setting.files')}</dt>
      <dd className="min-w-0">
        <ul className="flex flex-wrap justify-end gap-1.5">
          {files.map((each) => (
            <li
              key={`${each.slot}-${each.id}`}
              title={nameOf(each)}
              className={cx(
                'size-10 overflow-hidden rounded-md border bg-sunken',
                each.file === null ? 'border-dashed border-line-strong' : 'border-line',
              )}
            >
              <span className="sr-only">{nameOf(each)}</span>
              <MediaPreview
                purpose={RULES[each.slot].purpose}
                url={each.file ? `/v1/files/${encodeURIComponent(each.id)}/content` : null}
              />
            </li>
          ))}
        </ul>
      </dd>
    </div>
  )
}
