import type { Context } from '../../context.ts'
import { failpoint } from '../../platform/failpoint.ts'
import type { Outcome } from '../job.ts'
import { VIDEO_TOPIC } from '../queues.ts'
import type { VideoJobRow } from '../store.ts'
import { type Applied, writeOutcomes } from './write-outcomes.ts'

export type AdvanceContext = Pick<Context, 'db' | 'clock' | 'changes' | 'groups' | 'log'>

/**
 * Applies what a step, or a cancellation, decided: status, money and moderation record are committed together, or not at all, in a
 * commit shared with what was decided for other jobs at that moment. The job returned is the one given with the outcome's changes:
 * whatever else a step wrote has to be part of its outcome.
 * Null when another worker, a cancellation or a deletion came first and nothing was written.
 */
export async function advance(ctx: AdvanceContext, job: VideoJobRow, outcome: Outcome): Promise<Applied | null> {
  if (outcome.to !== 'same') failpoint(`before_${outcome.to}`)
  const applied = await ctx.groups.join('video-outcomes', { job, outcome }, (decided) => writeOutcomes(ctx, decided))
  if (!applied) return null
  if (outcome.to !== 'same') failpoint(`after_${outcome.to}`)
  if (applied.job.status !== job.status || applied.job.progress !== job.progress) {
    ctx.changes.announce(VIDEO_TOPIC, job.id)
  }
  return applied
}
