import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { LabelsList } from '../../../server/videos/labels/schema.ts'
import { request } from '../../api/request.ts'
import { useText } from '../../text/use-text.ts'
import { Link } from '../../ui/button.tsx'
import { notify } from '../../ui/overlay/notifications.ts'
import { closeToast, toast } from '../../ui/overlay/toast.ts'
import { beginningOf } from '../draft/prompt.ts'
import type { VideoJob } from '../jobs/job.ts'
import { useFailureReason } from './progress.tsx'

/** Long enough to reach the link. */
const SHOWN_MS = 12_000
/** Of a name or prompt. */
const TITLE_CHARACTERS = 60

/** The newest announcement, which the next one counts as well while it is shown. */
let newest: { toast: number; videos: readonly VideoJob[] } | null = null

/** One toast for jobs that have ended together or shortly after each other, and a notification of the browser where the person wants them. */
export async function announce(ended: readonly VideoJob[]): Promise<void> {
  const title = ended.length === 1 ? await titleOf(ended[0]!) : ''
  const videos = [...takeShown(), ...ended]
  const failed = videos.some(({ status }) => status === 'failed')
  const text = videos.length === 1 ? <One video={videos[0]!} title={title} /> : <Many videos={videos} />
  newest = { toast: toast(text, failed ? 'danger' : 'success', SHOWN_MS), videos }
}

/** What the newest announcement is about, which is closed: none when it is no longer shown, and when the person may be about to use it. */
function takeShown(): readonly VideoJob[] {
  if (newest === null || document.activeElement?.closest('[data-toasts]')) return []
  return closeToast(newest.toast) ? newest.videos : []
}

/** The name of a video, or how its prompt begins: also where its name cannot be read. */
async function titleOf({ id, prompt }: VideoJob): Promise<string> {
  const query = { ids: id }
  const labels = await request<LabelsList>('GET', '/console/videos/labels', { query }).catch(() => null)
  return beginningOf(labels?.data[0]?.name ?? prompt, TITLE_CHARACTERS)
}

function One({ video, title }: { video: VideoJob; title: string }) {
  const t = useText('videos')
  const reason = useFailureReason(video)
  const text = video.status === 'failed' ? t('ended.failed', { title, reason }) : t('ended.completed', { title })
  useNotification(text, [video])
  return (
    <>
      <span className="line-clamp-3">{text}</span>
      <Link to="/videos/$id" params={{ id: video.id }}>
        {t('ended.open')}
      </Link>
    </>
  )
}

function Many({ videos }: { videos: readonly VideoJob[] }) {
  const t = useText('videos')
  const failed = videos.filter(({ status }) => status === 'failed').length
  const done = videos.length - failed
  const text = [
    ...(done > 0 ? [t('ended.many_completed', { count: done })] : []),
    ...(failed > 0 ? [t('ended.many_failed', { count: failed })] : []),
  ].join(' ')
  useNotification(text, videos)
  return (
    <>
      <span className="block">{text}</span>
      <Link to="/videos">{t('ended.open_all')}</Link>
    </>
  )
}

/** Opens the video, or the list of several, when it is chosen. */
function useNotification(text: string, videos: readonly VideoJob[]): void {
  const navigate = useNavigate()
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the toast appears.
  useEffect(() => {
    const [only] = videos
    const open = () =>
      void (videos.length === 1
        ? navigate({ to: '/videos/$id', params: { id: only!.id } })
        : navigate({ to: '/videos' }))
    notify(text, { tag: `kinora.${only!.id}`, onOpen: open })
  }, [])
}
