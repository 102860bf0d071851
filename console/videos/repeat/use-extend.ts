import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { failureOf } from '../../api/failure.ts'
import { request } from '../../api/request.ts'
import type { StoredFile } from '../../api/upload.ts'
import { useVideoModels } from '../../api/video-models.ts'
import { useText } from '../../text/use-text.ts'
import { useFailureTexts } from '../../ui/failure-text.ts'
import { toast } from '../../ui/overlay/toast.ts'
import { storedAttachment } from '../draft/attachments.ts'
import { readCurrentDraft, replaceDraft, useDraft } from '../draft/draft-store.ts'
import { accepts } from '../draft/models.ts'
import type { VideoJob } from '../jobs/job.ts'
import { pageQuery } from '../jobs/job-cache.ts'

/**
 * Fills the form with a request that begins with the last frame of a clip, and opens it. The prompt is empty, since it says what happens next.
 * Where the clip's model takes no first frame it is the first model that does.
 */
export function useExtend(): (job: VideoJob, title: string) => Promise<void> {
  const t = useText('videos/repeat')
  const queries = useQueryClient()
  const navigate = useNavigate()
  const models = useVideoModels().data ?? []
  const textOf = useFailureTexts()
  useDraft()
  return async ({ id, model: own, seconds, aspect_ratio }, title) => {
    const before = models.find((model) => model.id === own)
    const model = [before, ...models].find((each) => each && accepts(each, 'first_frame'))
    if (!model) return
    // With these the form has its place at once.
    void import('./continues.tsx').catch(() => {})
    const newest = queries.prefetchQuery(pageQuery(queries, null, false))
    let file: StoredFile
    try {
      file = await request<StoredFile>('POST', `/console/videos/${encodeURIComponent(id)}/last_frame`)
    } catch (error) {
      return void toast(failureOf(error).status === 404 ? t('extend_failed') : textOf(error), 'danger')
    }
    const files = { ...readCurrentDraft().files, first_frame: [storedAttachment(file)], last_frame: [] }
    const request_ = { prompt: '', model: model.id, seconds, aspect_ratio, mode: 'frames', files } as const
    const origin = { continues: { title, file_id: file.id }, made_from: id }
    replaceDraft({ ...request_, clips: 1, is_repeat: true, is_sent: false, ...origin }, 'frame')
    await newest
    await navigate({ to: '/videos' })
    const isOther = model.id !== own
    toast(isOther ? t('extend_other', { model: model.name, before: before?.name ?? own }) : t('extend_done'))
  }
}
