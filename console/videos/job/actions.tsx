import { useQueryClient } from '@tanstack/react-query'
import { Ban, Code as CodeIcon, Download, Ellipsis, RotateCcw, Share2, Trash2 } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { clipName } from '../../../server/videos/archive/clip-name.ts'
import { isFailure } from '../../api/failure.ts'
import { useMakers, useSite } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useMayDelete, useSession } from '../../api/session.ts'
import { withTexts } from '../../text/languages.ts'
import { useText } from '../../text/use-text.ts'
import { useBackTo } from '../../ui/back.ts'
import { Button, buttonClass, IconButton } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/overlay/dialog.tsx'
import { Menu } from '../../ui/overlay/menu.tsx'
import { toast } from '../../ui/overlay/toast.ts'
import { useDeleteJobs } from '../jobs/delete-jobs.ts'
import { contentPath, isRunning, type VideoJob, videoPath } from '../jobs/job.ts'
import { applyJob } from '../jobs/job-cache.ts'
import { RequestCode } from './request-code.tsx'
import { useUseAgain } from './use-again.ts'

const ShareDialog = lazy(() =>
  withTexts('videos/sharing', import('../sharing/share-dialog.tsx')).then((module) => ({
    default: module.ShareDialog,
  })),
)

/** The actions available for a job in its current state. `name`: what it is called, if anything. */
export function VideoActions({ job, name }: { job: VideoJob; name: string | null }) {
  const t = useText('videos')
  const fillStudio = useUseAgain()
  const remove = useDelete(job)
  const maker = useMakers([job.id]).get(job.id)
  const mayDelete = useMayDelete()(maker)
  const { user, organization } = useSession()
  const mayShare = organization.role !== 'member' || maker?.user_id === user.id
  const sharing = useSite().data?.sharing
  const kit = useText('kit')
  const [asking, setAsking] = useState<'cancel' | 'code' | 'share' | null>(null)
  const runs = isRunning(job)
  const canShare = job.status === 'completed' && sharing && mayShare
  const close = (open: boolean) => !open && setAsking(null)
  return (
    <>
      {job.status === 'completed' && (
        <a
          href={contentPath(job.id)}
          download={clipName({ ...job, name })}
          className={buttonClass({ variant: 'primary' })}
        >
          <Download aria-hidden />
          {t('download')}
        </a>
      )}
      {runs && (
        <Button icon={<Ban />} onClick={() => setAsking('cancel')}>
          {t('cancel')}
        </Button>
      )}
      {(runs || job.status === 'completed') && (
        <Button
          icon={<RotateCcw />}
          className={runs ? 'max-sm:hidden' : 'max-sm:[&_svg]:hidden'}
          onClick={() => void fillStudio(job)}
        >
          {t('use_again')}
        </Button>
      )}
      {canShare && (
        <Button icon={<Share2 />} className="max-sm:hidden" onClick={() => setAsking('share')}>
          {t('share')}
        </Button>
      )}
      <Button icon={<CodeIcon />} className="max-sm:hidden" onClick={() => setAsking('code')}>
        {t('as_code')}
      </Button>
      <Menu
        trigger={
          <IconButton label={t('more')} icon={<Ellipsis />} variant="secondary" className={runs ? 'sm:hidden' : ''} />
        }
        items={[
          ...(runs ? [{ label: t('use_again'), icon: <RotateCcw />, onSelect: () => void fillStudio(job) }] : []),
          ...(canShare ? [{ label: t('share'), icon: <Share2 />, onSelect: () => setAsking('share') }] : []),
          { label: t('as_code'), icon: <CodeIcon />, onSelect: () => setAsking('code') },
          ...(runs
            ? []
            : [
                {
                  label: t('delete'),
                  icon: <Trash2 />,
                  danger: true,
                  onSelect: () => void remove(),
                  ...(!mayDelete && { disabled: true, hint: kit('delete_own_only') }),
                },
              ]),
        ]}
      />
      <CancelDialog job={job} open={asking === 'cancel'} onOpenChange={close} />
      {asking === 'code' && <RequestCode job={job} onClose={() => setAsking(null)} />}
      {asking === 'share' && canShare && (
        <Suspense>
          <ShareDialog video_id={job.id} days_max={sharing.days_max} onClose={() => setAsking(null)} />
        </Suspense>
      )}
    </>
  )
}

type AskProps = { job: VideoJob; open: boolean; onOpenChange: (open: boolean) => void }

function CancelDialog({ job, open, onOpenChange }: AskProps) {
  const t = useText('videos')
  const queries = useQueryClient()
  const cancel = async () => {
    let canceled: VideoJob
    try {
      canceled = await request<VideoJob>('POST', `${videoPath(job.id)}/cancel`)
    } catch (error) {
      if (!isFailure(error) || error.code !== 'conflict') throw error
      const now = await request<VideoJob>('GET', videoPath(job.id))
      applyJob(queries, now)
      return toast(t(isRunning(now) ? 'cancel_refused' : 'cancel_late'), 'danger')
    }
    applyJob(queries, canceled)
    void queries.invalidateQueries({ queryKey: ['balance'] })
    toast(t('canceled_done'))
  }
  return (
    <ConfirmDialog
      {...{ open, onOpenChange }}
      title={t('cancel_title')}
      confirmLabel={t('cancel')}
      keepLabel={t('keep_rendering')}
      onConfirm={cancel}
    >
      <p>{t('cancel_text')}</p>
    </ConfirmDialog>
  )
}

/** Removes the job from the list, and deletes it unless the person undoes that. */
function useDelete(job: VideoJob): () => Promise<void> {
  const t = useText('videos')
  const deleteJobs = useDeleteJobs()
  const { goBack } = useBackTo('/videos')
  return async () => {
    await goBack()
    await deleteJobs([job.id], t('deleted_done'))
  }
}
