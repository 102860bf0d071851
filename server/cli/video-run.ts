import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Static } from 'typebox'
import type { CreateVideo, VideoModelList, VideoView } from '../videos/schema.ts'
import { ApiCallError, type ApiClient, retryTransient } from './api-client.ts'
import type { Progress } from './progress.ts'

/** Media on this disk that a job refers to. */
export type References = {
  first_frame?: string
  last_frame?: string
  images: readonly string[]
  videos: readonly string[]
  audio: readonly string[]
}

/** How long calls to a service that does not answer are retried. */
const RETRY_SECONDS = 120

/** The first video model of the person's plan, which a command uses when none is named. Throws ApiCallError. */
export async function firstModel(api: ApiClient, signal: AbortSignal): Promise<string> {
  const { body } = await api.call<Static<typeof VideoModelList>>('GET', '/v1/videos/models', { signal })
  const [model] = body.data
  if (!model) throw new ApiCallError('Your plan has no video model. Ask the operator of the service for one.')
  return model.id
}

/** Uploads what `references` names, each for its purpose, and returns the members of the create body that refer to it. */
export async function uploadReferences(
  api: ApiClient,
  references: References,
  options: { signal: AbortSignal; on_upload(path: string, id: string): void },
): Promise<Pick<CreateVideo, 'image_reference' | 'references'>> {
  const { signal, on_upload } = options
  const upload = async (path: string, purpose: 'vision' | 'video' | 'audio') => {
    const file_id = await retryTransient(RETRY_SECONDS, signal, () => api.upload(path, purpose, signal))
    on_upload(path, file_id)
    return { file_id }
  }
  const all = async (paths: readonly string[], purpose: 'vision' | 'video' | 'audio') => {
    const ids: Array<{ file_id: string }> = []
    for (const path of paths) ids.push(await upload(path, purpose))
    return ids.length > 0 ? ids : undefined
  }
  const frames: NonNullable<CreateVideo['image_reference']> = []
  for (const role of ['first_frame', 'last_frame'] as const) {
    const path = references[role]
    if (path !== undefined) frames.push({ ...(await upload(path, 'vision')), role })
  }
  const images = await all(references.images, 'vision')
  const videos = await all(references.videos, 'video')
  const audio = await all(references.audio, 'audio')
  return {
    ...(frames.length > 0 && { image_reference: frames }),
    ...((images || videos || audio) && { references: { images, videos, audio } }),
  }
}

/** Submits a job exactly once, however often the connection breaks. Throws ApiCallError. */
export async function submitJob(api: ApiClient, body: CreateVideo, signal: AbortSignal): Promise<VideoView> {
  const headers = { 'idempotency-key': randomUUID() }
  return retryTransient(
    RETRY_SECONDS,
    signal,
    async () => (await api.call<VideoView>('POST', '/v1/videos', { body, headers })).body,
  )
}

/** Polls until the job has ended and shows its progress. The interval grows with the time it takes, up to ten seconds. */
export async function followJob(
  api: ApiClient,
  job: VideoView,
  progress: Progress,
  signal: AbortSignal,
): Promise<VideoView> {
  const started = performance.now()
  let current = job
  try {
    for (;;) {
      progress.show(current.status, current.progress)
      if (hasEnded(current)) return current
      const elapsed_seconds = (performance.now() - started) / 1000
      await sleep(Math.min(10, Math.max(0.3, elapsed_seconds / 10)) * 1000, undefined, { signal })
      current = await retryTransient(
        RETRY_SECONDS,
        signal,
        async () => (await api.call<VideoView>('GET', `/v1/videos/${job.id}`, { signal })).body,
      )
    }
  } finally {
    progress.done()
  }
}

/** Cancels the job and returns its new state; a job that has ended in the meantime is returned unchanged. */
export async function cancelJobOf(api: ApiClient, id: string): Promise<VideoView> {
  try {
    return (await api.call<VideoView>('POST', `/v1/videos/${id}/cancel`)).body
  } catch (error) {
    if (!(error instanceof ApiCallError && error.code === 'conflict')) throw error
    return (await api.call<VideoView>('GET', `/v1/videos/${id}`)).body
  }
}

/** A status that this version does not know counts as running. */
function hasEnded({ status }: VideoView): boolean {
  return status === 'completed' || status === 'failed' || status === 'canceled'
}
