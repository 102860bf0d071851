import type { Context } from '../../context.ts'
import { failpoint } from '../../platform/failpoint.ts'
import type { JobChanges, Outcome } from '../job.ts'
import { VIDEO_TOPIC } from '../queues.ts'
import type { VideoJobRow } from '../store.ts'
import { writeOutcomes } from './write-outcomes.ts'

export type AdvanceContext = Pick<Context, 'db' | 'clock' | 'changes' | 'groups' | 'log'>

/** The job as it now is, and what was applied to it. */
export type Advanced = { job: VideoJobRow; applied: Outcome }

/**
 * Applies what a step, or a cancellation, decided: status, money and moderation record stand or fall together, in a commit that is
 * shared with what was decided for other jobs at that moment.
 * Null when another worker, a cancellation or a deletion got there first and nothing was done.
 */
export async function advance(ctx: AdvanceContext, job: VideoJobRow, outcome: Outcome): Promise<Advanced | null> {
  if (outcome.to !== 'same') failpoint(`before_${outcome.to}`)
  const advanced = await ctx.groups.join('video-outcomes', { job, outcome }, (decided) => writeOutcomes(ctx, decided))
  if (!advanced) return null
  if (outcome.to !== 'same') failpoint(`after_${outcome.to}`)
  if (advanced.job.status !== job.status || advanced.job.progress !== job.progress) {
    ctx.changes.announce(VIDEO_TOPIC, job.id)
  }
  return advanced
}

/** What stands in the row after a start that was not answered. */
export function unknownStart(job: VideoJobRow): JobChanges {
  return { start_unknown: true, unknown_starts: Math.min(STARTS_UNKNOWN_MAX, job.unknown_starts + 1) }
}

/** So many starts of unknown outcome end a job: the first may be repeated, the repetition may not. */
export const STARTS_UNKNOWN_MAX = 2
