import type { Context } from '../context.ts'
import type { ModerationInput, ModerationResult } from '../engines/moderation.ts'
import { sampleFrames, shrinkImage } from '../media/frames.ts'
import { familyOf, findInputs, isMediaFault, type JobFile, withVerifiedFile } from './inputs.ts'
import type { ModerationNote, MovesOn, Outcome } from './job.ts'
import { textDigest } from './moderation-records.ts'
import { describeFault, tryAgain } from './retry.ts'
import type { VideoJobRow } from './store.ts'

/** One try; with the pauses of `tryAgain` three tries take about a minute. */
const TRY_SECONDS = 16

/** Judges prompt and reference media. Only an explicit `allow` moves the job on; everything else, silence included, fails it. */
export async function moderate(ctx: Context, job: VideoJobRow, signal: AbortSignal): Promise<Outcome> {
  const files = await findInputs(ctx, job)
  if (!files) return { to: 'failed', code: 'reference_unavailable' }
  const engine = ctx.engines.moderation
  if (!engine.sees_images && engine.media === 'block' && files.length > 0)
    return { to: 'failed', code: 'moderation_unavailable' }

  let images: ModerationInput['images'] = []
  if (engine.sees_images) {
    const seen = await picturesOf(ctx, files, signal)
    if ('to' in seen) return seen
    images = seen.images
  }
  return judge(ctx, job, { text: job.prompt, images, stage: 'prompt', allowed: { to: 'translating' } }, signal)
}

/** Asks the engine about one text and its pictures, and turns the answer into an outcome. */
export async function judge(
  ctx: Context,
  job: VideoJobRow,
  question: {
    text: string
    images: ModerationInput['images']
    stage: ModerationNote['stage']
    allowed: MovesOn
  },
  signal: AbortSignal,
): Promise<Outcome> {
  const { text, images, stage, allowed } = question
  let result: ModerationResult
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TRY_SECONDS * 1000)])
    result = await ctx.engines.moderation.moderate({ text, images, purpose: 'video_prompt' }, limit)
  } catch (error) {
    signal.throwIfAborted()
    ctx.log.warn('moderation_failed', { video_id: job.id, ...describeFault(error) })
    return tryAgain(job, 'moderation_unavailable')
  }
  const { verdict, categories, engine, version } = result
  const evidence = {
    text_digest: textDigest(ctx.secret, text),
    file_sha256s: stage === 'prompt' ? job.inputs.map(({ sha256 }) => sha256) : [],
  }
  if (verdict === 'allow') return { ...allowed, record: { stage, verdict, categories, engine, version, ...evidence } }
  if (verdict === 'block') {
    return {
      to: 'failed',
      code: 'moderation_blocked',
      record: { stage, verdict, categories, engine, version, ...evidence },
    }
  }
  return tryAgain(job, 'moderation_unavailable')
}

/** Every picture the engine should see: images as they are, clips as sampled frames. What cannot be seen is not let through. */
async function picturesOf(
  ctx: Context,
  files: readonly JobFile[],
  signal: AbortSignal,
): Promise<{ images: Array<{ media_type: string; bytes: Uint8Array }> } | Outcome> {
  const images: Array<{ media_type: string; bytes: Uint8Array }> = []
  for (const { role, file } of files) {
    const family = familyOf(role)
    if (family === 'audio') continue
    try {
      const pictures = await withVerifiedFile(ctx, file, async (path) =>
        family === 'image'
          ? [await shrinkImage(path, { signal })]
          : await sampleFrames(path, { work_dir: ctx.work_dir, signal }),
      )
      if (!pictures) return { to: 'failed', code: 'reference_unavailable' }
      if (pictures.length === 0) return { to: 'failed', code: 'invalid_reference_media' }
      images.push(...pictures.map((bytes) => ({ media_type: 'image/jpeg', bytes })))
    } catch (error) {
      signal.throwIfAborted()
      if (isMediaFault(error)) return { to: 'failed', code: 'invalid_reference_media' }
      throw error
    }
  }
  return { images }
}
