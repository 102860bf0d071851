import type { Job } from '../../../videos/pipeline/store.ts'
import type { RenderAttempt } from '../../../videos/render/attempt.ts'

/** What a job waits for. Source: docs/cli.md, job show. */
type Need =
  | 'moderation'
  | 'translation'
  /** An engine that takes the start. */
  | 'engine'
  | 'render'
  /** The clip is finished at the engine and not stored. */
  | 'clip'
  /** A process that works on the job. */
  | 'worker'
  /** An engine that is to stop the render of a canceled job. */
  | 'cancellation'

export type Wait = { for: Need; since: Date; detail: string }

/** A job that is due is claimed within a second or two, unless something is wrong. */
const LATE_SECONDS = 10

/** What a job waits for at `now`, with `workers` nodes alive that run jobs; null for one that is over. */
export function waitOf(job: Job, { now, workers }: { now: Date; workers: number }): Wait | null {
  const { finished_at, cancel_due_at } = job
  const due = finished_at === null ? job.next_run_at : cancel_due_at
  if (due === null) return null
  const need = finished_at === null ? needOf(job) : stopOf(finished_at)
  const since = unclaimedSince(job, due, now)
  return since === null ? need : { for: 'worker', since, detail: `${whyUnclaimed(workers)} Then: ${need.detail}` }
}

/** Since when a job that is due has had no process. */
function unclaimedSince({ claim_id, claimed_until }: Job, due: Date, now: Date): Date | null {
  if (claim_id !== null) return claimed_until !== null && claimed_until < now ? claimed_until : null
  return now.getTime() - due.getTime() >= LATE_SECONDS * 1000 ? due : null
}

function whyUnclaimed(workers: number): string {
  if (workers === 0) return 'No node that runs jobs is alive.'
  const nodes = workers === 1 ? 'The node that runs jobs has not' : `None of the ${workers} nodes that run jobs has`
  return `${nodes} claimed it: busy, or without its model or engine in the configuration.`
}

function stopOf(since: Date): Wait {
  return { for: 'cancellation', since, detail: 'The engine is still to be asked to stop the render.' }
}

function needOf(job: Job): Wait {
  const { status, created_at, moderated_at, queued_at, attempt } = job
  if (status === 'moderating')
    return {
      for: 'moderation',
      since: created_at,
      detail: `Prompt and files are judged.${failures(job, 'moderation_failed')}`,
    }
  if (status === 'translating')
    return {
      for: 'translation',
      since: moderated_at!,
      detail: `The prompt is translated.${failures(job, 'translation_failed')}`,
    }
  return attempt === null ? { for: 'engine', since: queued_at!, detail: NOT_ASKED } : needOfAttempt(job, attempt)
}

const NOT_ASKED =
  'No engine has been asked yet. Where that lasts, those of the model have as many renders as they may, or an equal start is not settled.'

function needOfAttempt(job: Job, attempt: RenderAttempt): Wait {
  const { state, number, created_at, answered_at, delivered_at, missing_since, ended_at } = attempt
  const reason = attempt.ended_because ?? state
  switch (state) {
    case 'starting':
      return { for: 'engine', since: created_at, detail: `Start ${number}: the engine has not answered yet.` }
    case 'unknown': {
      const asked = `Start ${number}: the engine did not answer, and is asked what became of it.`
      return { for: 'engine', since: created_at, detail: `${asked}${failures(job, 'recover_failed')}` }
    }
    case 'rendering': {
      const missing = 'The engine says that it does not know the render.'
      const detail = missing_since === null ? `The engine renders, ${job.progress} %.` : missing
      return { for: 'render', since: missing_since ?? answered_at!, detail: `${detail}${failures(job, 'poll_failed')}` }
    }
    case 'delivered': {
      const detail = `The clip is finished at the engine and not stored.${failures(job, 'fetch_failed')}`
      return { for: 'clip', since: delivered_at!, detail }
    }
    case 'not_begun': {
      const detail = `Start ${number} began nothing, ${job.tries} in a row: ${reason}`
      return { for: 'engine', since: job.render_started_at ?? job.queued_at!, detail }
    }
    default:
      return { for: 'engine', since: ended_at!, detail: `The next start is due. The last one: ${reason}` }
  }
}

/** Calls that failed are counted in the row, and described in the log alone. */
function failures({ tries }: Job, log_key: string): string {
  if (tries === 0) return ''
  return ` Failed ${tries === 1 ? 'once' : `${tries} times in a row`}: ${log_key} in the log.`
}
