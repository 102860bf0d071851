import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useVideoModels } from '../../api/video-models.ts'
import { useText } from '../../text/use-text.ts'
import { useFormat } from '../../ui/data/format.tsx'
import { toast } from '../../ui/overlay/toast.ts'
import { type Attachment, SLOTS, storedAttachment } from '../draft/attachments.ts'
import type { Draft } from '../draft/draft.ts'
import { type Opening, readCurrentDraft, replaceDraft, useDraft } from '../draft/draft-store.ts'
import type { VideoJob } from '../jobs/job.ts'
import { readSubmittedFiles } from './submitted-files.ts'

type RepeatOptions = {
  clips?: number
  opens_at?: Opening
  /** What is said then, in place of the usual. */
  done?: string
}

/** Fills the form with the request of a job, for one clip unless more are asked for, and opens it, with the
 * list of models where another one is to be picked: `opens_at`. A file that is gone has its place there, and says so. */
export function useUseAgain(): (job: VideoJob, options?: RepeatOptions) => Promise<void> {
  const t = useText('videos')
  const { list } = useFormat()
  const queries = useQueryClient()
  const models = useVideoModels().data
  const navigate = useNavigate()
  useDraft()
  const settingsOf = ({ model, seconds, aspect_ratio }: VideoJob, count: number) => [
    models?.find(({ id }) => id === model)?.name ?? model,
    t('seconds_value', { n: seconds }),
    aspect_ratio === 'Auto' ? t('auto') : aspect_ratio,
    ...(count > 0 ? [t('use_again_files', { count })] : []),
  ]
  return async (job, { clips = 1, opens_at = 'prompt', done } = {}) => {
    const submitted = await readSubmittedFiles(queries, job).catch(() => null)
    if (submitted === null) return void toast(t('use_again_failed'), 'danger')
    const files = { ...readCurrentDraft().files }
    for (const slot of SLOTS) {
      const own = submitted.filter((each) => each.slot === slot)
      files[slot] = own.map(({ id, file }, at) =>
        file ? storedAttachment(file) : goneAttachment(id, t('gone_file', { slot: t(`slot.${slot}`), n: at + 1 })),
      )
    }
    const from = { is_repeat: true, is_sent: true, continues: null, made_from: job.id }
    replaceDraft({ ...requestOf(job), files, clips, ...from }, opens_at)
    await navigate({ to: '/videos' })
    toast(done ?? t('use_again_done', { settings: list(settingsOf(job, submitted.length)) }))
  }
}

function requestOf(job: VideoJob): Pick<Draft, 'prompt' | 'model' | 'seconds' | 'aspect_ratio' | 'mode'> {
  const { prompt, model, seconds, aspect_ratio } = job
  return { prompt, model, seconds, aspect_ratio, mode: modeOf(job) }
}

function modeOf({ image_reference, references }: VideoJob): Draft['mode'] {
  return references ? 'references' : image_reference ? 'frames' : 'text'
}

function goneAttachment(id: string, filename: string): Attachment {
  return { ...storedAttachment({ id, filename, bytes: 0 }), problem: { code: 'gone' } }
}
