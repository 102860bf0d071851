import { useQueryClient } from '@tanstack/react-query'
import { add, multiply } from '../../api/money.ts'
import { useLabelsOfPages } from '../../api/queries.ts'
import { randomId } from '../../api/random-id.ts'
import { useVideoModels, type VideoModel } from '../../api/video-models.ts'
import { useText } from '../../text/use-text.ts'
import { Money } from '../../ui/data/format.tsx'
import { ConfirmDialog } from '../../ui/overlay/dialog.tsx'
import { toast } from '../../ui/overlay/toast.ts'
import { beginningOf } from '../draft/prompt.ts'
import { submittedRequest, type VideoJob } from '../jobs/job.ts'
import { addWaiting, useAccount } from '../waiting/list.ts'
import { sendAll } from '../waiting/send.ts'

/** Of a name or prompt. */
const TITLE_CHARACTERS = 120

type Quoted = { job: VideoJob; cost: string; currency: string }

/** Shows what the same requests cost now, and submits them by the waiting list, which sends them as slots come free. */
export function RetryDialog({ jobs, onClose, onSent }: { jobs: VideoJob[]; onClose: () => void; onSent: () => void }) {
  const t = useText('videos/clips')
  const queries = useQueryClient()
  const account = useAccount()
  const models = useVideoModels().data ?? []
  const labels = useLabelsOfPages([jobs.map(({ id }) => id)])
  const quoted = jobs.flatMap((job) => quoteOf(job, models))
  const sum = quoted.reduce((total, { cost }) => add(total, cost), '0')
  const send = async () => {
    let kept = 0
    // The oldest first, as they were submitted.
    for (const { job } of quoted.toReversed()) {
      if (
        !(await addWaiting(account, {
          key: randomId(),
          request: submittedRequest(job),
          made_from: job.id,
          sent_at_ms: null,
        }))
      )
        break
      kept += 1
    }
    if (kept < quoted.length) toast(t('retry_full', { count: quoted.length - kept }), 'danger')
    else toast(t('retry_sent', { count: kept }))
    onSent()
    void sendAll(queries, account)
  }
  return (
    <ConfirmDialog
      open
      danger={false}
      onOpenChange={(open) => !open && onClose()}
      title={t('retry_title', { count: quoted.length })}
      confirmLabel={t('retry_confirm')}
      onConfirm={send}
    >
      <p>{t('retry_text')}</p>
      {quoted.length < jobs.length && <p>{t('retry_gone', { count: jobs.length - quoted.length })}</p>}
      <ul className="max-h-60 divide-y divide-line overflow-y-auto" tabIndex={-1}>
        {quoted.map(({ job, cost, currency }) => (
          <li key={job.id} className="flex justify-between gap-4 py-1.5">
            <span className="line-clamp-1 [overflow-wrap:anywhere]">
              {beginningOf(labels.get(job.id)?.name ?? job.prompt, TITLE_CHARACTERS)}
            </span>
            <Money amount={cost} currency={currency} />
          </li>
        ))}
      </ul>
      {quoted[0] && (
        <p className="flex justify-between gap-4 font-semibold text-ink">
          <span>{t('retry_sum')}</span>
          <Money amount={sum} currency={quoted[0].currency} digits="exact" />
        </p>
      )}
    </ConfirmDialog>
  )
}

/** None for a model that is no longer there. */
function quoteOf(job: VideoJob, models: readonly VideoModel[]): Quoted[] {
  const price = models.find(({ id }) => id === job.model)?.pricing[0]
  return price ? [{ job, cost: multiply(price.per_second, job.seconds), currency: price.currency }] : []
}
