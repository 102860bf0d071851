import type { Context } from '../../context.ts'
import { findInputs } from '../inputs.ts'
import type { Outcome } from '../job.ts'
import { tryAgain } from '../pipeline/retry.ts'
import type { VideoJobRow } from '../store.ts'
import { judgeParts, noteOf, textPart } from './judge.ts'
import { gatherMaterial } from './material.ts'

/**
 * Judges prompt and reference media. Only an explicit `allow` of every part moves the job on; anything else, no answer included, fails
 * it. The text comes first: the media of a blocked prompt are never read.
 */
export async function moderate(ctx: Context, job: VideoJobRow, signal: AbortSignal): Promise<Outcome> {
  const files = await findInputs(ctx, job)
  if (!files) return { to: 'failed', code: 'reference_unavailable' }
  const about = { stage: 'prompt', text: job.prompt } as const
  const nothing = { file_sha256s: [], unjudged: [] }
  const text = await judgeParts(ctx, job, [textPart(ctx, job.prompt)], signal)
  if (text.to === 'fault') return tryAgain(job, 'moderation_unavailable')
  if (text.to === 'block')
    return { to: 'failed', code: 'moderation_blocked', record: noteOf(ctx, text, { ...about, ...nothing }) }

  const material = await gatherMaterial(ctx, job, files, signal)
  if ('to' in material) return material
  const { parts, judged, unjudged } = material
  const media = await judgeParts(ctx, job, parts, signal)
  if (media.to === 'fault') return tryAgain(job, 'moderation_unavailable')
  if (media.to === 'block') {
    const { file_sha256 } = media.part
    const evidence = { file_sha256s: file_sha256 === null ? [] : [file_sha256], unjudged: [] }
    return { to: 'failed', code: 'moderation_blocked', record: noteOf(ctx, media, { ...about, ...evidence }) }
  }
  const results = [...text.results, ...media.results]
  const record = noteOf(ctx, { to: 'allow', results }, { ...about, file_sha256s: judged, unjudged })
  return { to: 'translating', record }
}
