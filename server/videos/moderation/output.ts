import type { Context } from '../../context.ts'
import { sampleFrames } from '../../media/frames/frames.ts'
import { extractSounds } from '../../media/sound.ts'
import type { StagedBlob } from '../../platform/blobs/blobs.ts'
import type { ModerationNote, Outcome } from '../job.ts'
import { tryAgain } from '../pipeline/retry.ts'
import type { VideoJobRow } from '../store.ts'
import { type JudgedPart, judgeParts, noteOf, picturePart, soundPart } from './judge.ts'

/**
 * Judges a finished clip before its job completes, where `moderation.output` is set: a frame of every second beside the prompt that it was
 * rendered from, and what is said in it where sound can be transcribed. An outcome when the clip is blocked, or could not be judged; else
 * the record of the verdict, for the transaction that completes the job. What was allowed is not judged again after a restart.
 * Throws ProbeError, FfmpegError, ChildError or ChildrenBusy when the clip cannot be sampled.
 */
export async function judgeOutput(
  ctx: Context,
  job: VideoJobRow,
  clip: StagedBlob,
  signal: AbortSignal,
): Promise<Outcome | { record?: ModerationNote }> {
  if (!ctx.config.moderation_output) return {}
  const text = job.engine_prompt ?? job.prompt
  const { parts, unjudged } = await partsOf(ctx, job, { clip, text }, signal)
  const judgement = await judgeParts(ctx, job, parts, signal, true)
  signal.throwIfAborted()
  const tries = triesOf(ctx)
  if (judgement.to === 'fault') {
    const count = tries.get(job.id) ?? 0
    const outcome = tryAgain({ tries: count }, 'moderation_unavailable')
    if (outcome.to === 'failed') tries.delete(job.id)
    else tries.set(job.id, count + 1)
    return outcome.to === 'same' ? { ...outcome, set: { tries: 0 } } : outcome
  }
  tries.delete(job.id)
  const about = { stage: 'output' as const, text, file_sha256s: [clip.sha256], unjudged }
  if (judgement.to === 'block')
    return { to: 'failed', code: 'moderation_blocked', record: noteOf(ctx, judgement, { ...about, unjudged: [] }) }
  return { record: noteOf(ctx, judgement, about) }
}

async function partsOf(
  ctx: Context,
  job: VideoJobRow,
  { clip, text }: { clip: StagedBlob; text: string },
  signal: AbortSignal,
): Promise<{ parts: JudgedPart[]; unjudged: ModerationNote['unjudged'] }> {
  const { sha256: file_sha256 } = clip
  const options = { owner: job.org_id, work_dir: ctx.work_dir, signal }
  const isHeard = ctx.engines.transcription !== undefined
  return ctx.blobs.withLocalFile(clip, async (path) => {
    const frames = await sampleFrames(path, options)
    const sounds = isHeard ? await extractSounds(path, 'video', options) : []
    return {
      parts: [
        ...frames.map((bytes) => picturePart(ctx, { text, bytes, file_sha256 })),
        ...sounds.map((wav) => soundPart(ctx, { wav, file_sha256 })),
      ],
      unjudged: isHeard ? [] : [{ file_sha256, part: 'sound' }],
    }
  })
}

/**
 * Failed tries by job, in this process: `tries` of the row counts polls and downloads that failed. A restart begins at zero.
 */
const TRIES = new WeakMap<Context['db'], Map<string, number>>()

function triesOf(ctx: Context): Map<string, number> {
  const tries = TRIES.get(ctx.db) ?? new Map<string, number>()
  TRIES.set(ctx.db, tries)
  return tries
}
