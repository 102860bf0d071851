import { useNavigate } from '@tanstack/react-router'
import { useText } from '../../text/use-text.ts'
import { toast } from '../../ui/overlay/toast.tsx'
import { SLOTS, storedAttachment } from '../draft/attachments.ts'
import type { Draft } from '../draft/draft.ts'
import { readCurrentDraft, replaceDraft, useDraft } from '../draft/draft-store.ts'
import { readSentInputs } from '../draft/sent-inputs.ts'
import type { VideoJob } from '../jobs/job.ts'

/** The draft that repeats this request, with the files it is known to have been submitted with. */
export function draftOf(job: VideoJob, base: Draft): Draft {
  const { prompt, model, seconds, aspect_ratio } = job
  const sent = readSentInputs(job.id)?.files ?? {}
  const files = { ...base.files }
  for (const slot of SLOTS) files[slot] = (sent[slot] ?? []).map(storedAttachment)
  const references = files.images.length + files.videos.length > 0
  const frames = files.first_frame.length + files.last_frame.length > 0
  return { prompt, model, seconds, aspect_ratio, files, mode: references ? 'references' : frames ? 'frames' : 'text' }
}

/** Fills the form with the request of a job and opens it. */
export function useUseAgain(): (job: VideoJob) => Promise<void> {
  const t = useText('videos')
  const navigate = useNavigate()
  useDraft()
  return async (job) => {
    replaceDraft(draftOf(job, readCurrentDraft()))
    await navigate({ to: '/videos' })
    toast(t('use_again_done'))
  }
}
