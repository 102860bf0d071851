import type { VideoView } from '../../../server/videos/schema.ts'
import type { VideoRequest } from '../draft/draft.ts'

export type VideoJob = VideoView

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'canceled'])

/** Whether a job still changes. A status that this console does not know counts as running. */
export function isRunning({ status }: Pick<VideoJob, 'status'>): boolean {
  return !ENDED.has(status)
}

export function videoPath(id: string): string {
  return `/v1/videos/${encodeURIComponent(id)}`
}

export function contentPath(id: string, variant?: 'thumbnail' | 'spritesheet'): string {
  return `${videoPath(id)}/content${variant ? `?variant=${variant}` : ''}`
}

/** The body that the job was submitted with. */
export function submittedRequest(job: VideoJob): VideoRequest {
  const { model, prompt, seconds, aspect_ratio, image_reference, references } = job
  const files = { ...(image_reference && { image_reference }), ...(references && { references }) }
  return { model, prompt, seconds, aspect_ratio, ...files }
}
