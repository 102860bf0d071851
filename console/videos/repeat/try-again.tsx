import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { RotateCw } from 'lucide-react'
import { useState } from 'react'
import { failureOf } from '../../api/failure.ts'
import { multiply } from '../../api/money.ts'
import { useBalance } from '../../api/queries.ts'
import { randomId } from '../../api/random-id.ts'
import type { VideoModel } from '../../api/video-models.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { useFormat } from '../../ui/data/format.tsx'
import { ConfirmDialog } from '../../ui/overlay/dialog.tsx'
import { toast } from '../../ui/overlay/toast.ts'
import { submittedRequest, type VideoJob } from '../jobs/job.ts'
import { applyJobs } from '../jobs/job-cache.ts'
import { addWaiting, useAccount } from '../waiting/list.ts'
import { createClips } from '../waiting/send.ts'

/** Failures that the same request would meet again. */
const FINAL: ReadonlySet<string> = new Set(['moderation_blocked', 'invalid_reference_media', 'reference_unavailable'])

/** Sends the request of a failed job once more, after it has shown the price; nothing where that would be of no use. */
export function TryAgain({ job, model }: { job: VideoJob; model: VideoModel | undefined }) {
  const t = useText('videos/repeat')
  const [key, setKey] = useState<string | null>(null)
  const pricing = model?.pricing[0]
  if (!pricing || FINAL.has(job.error?.code ?? '')) return null
  return (
    <>
      <Button variant="primary" icon={<RotateCw />} onClick={() => setKey(randomId())}>
        {t('try_again')}
      </Button>
      {key !== null && <Question {...{ job, pricing }} key={key} attempt={key} onClose={() => setKey(null)} />}
    </>
  )
}

type QuestionProps = {
  job: VideoJob
  pricing: VideoModel['pricing'][number]
  /** The idempotency key: however often the button is pressed, one job is created. */
  attempt: string
  onClose: () => void
}

function Question({ job, pricing, attempt: key, onClose }: QuestionProps) {
  const t = useText('videos/repeat')
  const videos = useText('videos')
  const queries = useQueryClient()
  const navigate = useNavigate()
  const account = useAccount()
  const { money } = useFormat()
  const { data: balance } = useBalance()
  const cost = money(multiply(pricing.per_second, job.seconds), pricing.currency, { digits: 'exact' })
  const available = balance ? money(balance.available, balance.currency) : '…'
  const send = async () => {
    const request = submittedRequest(job)
    try {
      const [made] = await createClips({ key, request, made_from: job.id })
      applyJobs(queries, [made!])
      void queries.invalidateQueries({ queryKey: ['balance'] })
      await navigate({ to: '/videos/$id', params: { id: made!.id } })
    } catch (error) {
      if (failureOf(error).code !== 'concurrency_limit_exceeded') throw error
      if (!(await addWaiting(account, { key, request, made_from: job.id, sent_at_ms: null }))) throw error
      toast(videos('waits', { count: 1 }))
      await navigate({ to: '/videos' })
    }
  }
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t('try_again_title')}
      confirmLabel={t('try_again')}
      danger={false}
      onConfirm={send}
    >
      <p>{t('try_again_text', { cost, available })}</p>
    </ConfirmDialog>
  )
}
