import type { InputRole } from '../engines/video/contract.ts'
import type { Actor } from '../identity/activity/action.ts'
import type { AttemptMove, Begun } from './render/attempt.ts'

export const STATUSES = [
  'moderating',
  'translating',
  'queued',
  'in_progress',
  'completed',
  'failed',
  'canceled',
] as const
export type JobStatus = (typeof STATUSES)[number]

/** The statuses that may follow each status. `docs/states.md` and the trigger in the database are compared with it. Source: contract 4.3. */
export const TRANSITIONS: Readonly<Record<JobStatus, readonly JobStatus[]>> = {
  moderating: ['translating', 'failed', 'canceled'],
  translating: ['queued', 'failed', 'canceled'],
  queued: ['in_progress', 'failed', 'canceled'],
  in_progress: ['completed', 'failed', 'canceled'],
  completed: [],
  failed: [],
  canceled: [],
}

/** A terminal status never changes. */
export function isTerminal(status: JobStatus): boolean {
  return TRANSITIONS[status].length === 0
}

export const TERMINAL = STATUSES.filter(isTerminal)

/** What people know a job by in the log of activity: model, length and time, never the prompt. */
export function describeJob(
  models: ReadonlyArray<{ id: string; name: string }>,
  { model, seconds, created_at }: { model: string; seconds: number; created_at: Date },
): string {
  const shown = models.find(({ id }) => id === model)?.name ?? model
  return `${shown}, ${seconds} s, ${created_at.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** Why a job failed, and the text its owner reads. No failed job is charged. Source: contract 4.4. */
export const FAILURES = {
  moderation_blocked: 'The request was rejected because it violates the content policy.',
  moderation_unavailable: 'Moderation is not available at the moment. Nothing was billed; submit the job again later.',
  translation_unavailable:
    'The Japanese prompt could not be translated. Nothing was billed; submit it again later, or write the prompt in English.',
  queue_timeout: 'The render could not be started in time. Nothing was billed; submit the job again later.',
  render_timeout: 'The render took longer than its time limit. Nothing was billed; submit the job again.',
  render_failed: 'The render failed. Nothing was billed; submit the job again, or change the request.',
  invalid_reference_media:
    'A reference could not be used: clips and audio must be decodable and 2 to 15 seconds long. Nothing was billed.',
  reference_unavailable:
    'A referenced file was deleted or expired before the render began. Nothing was billed; upload it again.',
  internal_error: 'The service could not process this job. Nothing was billed; submit it again.',
} as const
export type FailureCode = keyof typeof FAILURES

/**
 * A file the job refers to, with the hash of what engines are sent of it: that of the upload or of its engine copy. Other content under
 * the same id is rejected.
 */
export type JobInput = { role: InputRole; file_id: string; sha256: string }

/** What a step may change of the job besides the status. */
export type JobChanges = Partial<{
  engine_prompt: string
  progress: number
  tries: number
  width: number
  height: number
  blob_key: string
  output_sha256: string
  output_size_bytes: bigint
}>

export type MovesOn = {
  to: 'translating' | 'queued' | 'in_progress' | 'completed'
  set?: JobChanges
  attempt?: AttemptMove
  record?: ModerationNote
  /** With `completed`: when the engine had delivered the clip. */
  storing_since?: Date
}

/**
 * What a step decided. `attempt`: what became of the job's start; `begin`: a new one, written before the engine is asked; `unpin`: the job was
 * not submitted after all, so its files are unpinned. `message`: what the owner reads in place of the text in FAILURES, where there is more to
 * say; never for `moderation_blocked`. Steps never write status or money; `advance` does both.
 */
export type Outcome =
  | MovesOn
  | { to: 'failed'; code: FailureCode; message?: string; attempt?: AttemptMove; record?: ModerationNote }
  | { to: 'canceled'; by?: Actor }
  | {
      to: 'same'
      retry_after_seconds: number
      set?: JobChanges
      attempt?: AttemptMove
      begin?: Begun
      unpin?: true
    }

/** A verdict, stored with the transition it caused. */
export type ModerationNote = {
  stage: 'prompt' | 'translation' | 'output'
  verdict: 'allow' | 'block'
  categories: string[]
  engine: string
  version: string
  text_digest: string
  /** Files, or the output, of which every part was judged. */
  file_sha256s: string[]
  /** Those let through although no engine could judge this part of them: `all` of a picture or sound, or pictures or sound of a clip. */
  unjudged: Array<{ file_sha256: string; part: 'pictures' | 'sound' | 'all' }>
}
