import type { Context } from '../../context.ts'
import { ChildrenBusy } from '../../media/children/concurrency-limit.ts'
import type { MediaWork } from '../../media/ffmpeg/run.ts'
import { picturesOf, sampleFrames } from '../../media/frames/frames.ts'
import { type Probed, ProbeError, probeMedia } from '../../media/probe/probe.ts'
import { extractSounds, wavSeconds } from '../../media/sound.ts'
import { isMediaFault, isSlowness, rejectInput, requireLength, requireSoundLength } from '../input-problem.ts'
import { familyOf, type JobFile, withVerifiedFile } from '../inputs.ts'
import type { ModerationNote, Outcome } from '../job.ts'
import { tryAgain } from '../pipeline/retry.ts'
import type { VideoJobRow } from '../store.ts'
import { type Coverage, coverageOf } from './coverage.ts'
import { type JudgedPart, picturePart, soundPart } from './judge.ts'

export type Material = {
  parts: JudgedPart[]
  /** SHA-256 of the files of which every part is judged. */
  judged: string[]
  unjudged: ModerationNote['unjudged']
}

/** Wait before media are inspected again when no child process was available. */
const BUSY_SECONDS = 5

/**
 * Everything of the job's files that an engine can judge: pictures as they are, clips and animated pictures as frames over their whole
 * length, sound as WAV. An outcome instead when something cannot be decoded, has changed, or may not be let through unjudged.
 */
export async function gatherMaterial(
  ctx: Context,
  job: VideoJobRow,
  files: readonly JobFile[],
  signal: AbortSignal,
): Promise<Material | Outcome> {
  const coverage = coverageOf(ctx)
  const material: Material = { parts: [], judged: [], unjudged: [] }
  for (const file of files) {
    const found = await partsOf(ctx, job, { file, coverage }, signal)
    if ('to' in found) return found
    if (found.unjudged !== null && coverage.rest === 'block') return { to: 'failed', code: 'moderation_unavailable' }
    const { sha256: file_sha256 } = file.file
    material.parts.push(...found.parts)
    if (found.unjudged === null) material.judged.push(file_sha256)
    else material.unjudged.push({ file_sha256, part: found.unjudged })
  }
  return material
}

type Found = { parts: JudgedPart[]; unjudged: 'pictures' | 'sound' | 'all' | null }

async function partsOf(
  ctx: Context,
  job: VideoJobRow,
  { file: input, coverage }: { file: JobFile; coverage: Coverage },
  signal: AbortSignal,
): Promise<Found | Outcome> {
  const family = familyOf(input.role)
  const isSeen = family !== 'audio' && coverage.pictures
  const isHeard = family !== 'image' && coverage.sound
  if (!isSeen && !isHeard) return { parts: [], unjudged: 'all' }
  const work = { text: job.prompt, isSeen, isHeard, owner: job.org_id, work_dir: ctx.work_dir, signal }
  try {
    const found = await withVerifiedFile(ctx, input.file, (path) => decode(ctx, input, path, work))
    return found ?? { to: 'failed', code: 'reference_unavailable' }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ChildrenBusy) return { to: 'same', retry_after_seconds: BUSY_SECONDS }
    if (isSlowness(error)) {
      ctx.log.warn('input_slow', { video_id: job.id, file_id: input.file.id, error })
      return tryAgain(job, 'moderation_unavailable')
    }
    if (isMediaFault(error)) return rejectInput(ctx, job, input, error)
    throw error
  }
}

type Work = MediaWork & { text: string; isSeen: boolean; isHeard: boolean }

async function decode(
  ctx: Context,
  { role, file: { sha256: file_sha256 } }: JobFile,
  path: string,
  { text, isSeen, isHeard, ...options }: Work,
): Promise<Found> {
  const family = familyOf(role)
  const pictureParts = (pictures: readonly Uint8Array[]) =>
    pictures.map((bytes) => picturePart(ctx, { text, bytes, file_sha256 }))
  if (family === 'image') return { parts: pictureParts(await picturesOf(path, options)), unjudged: null }

  const { spans } = await probeMedia(path, family, options)
  requireTracks(spans, family)
  const frames = isSeen ? await sampleFrames(path, options) : []
  const sounds = isHeard ? await extractSounds(path, family, options) : []
  for (const wav of sounds) requireSoundLength(wavSeconds(wav), spans.audio)
  const isUnheard = !isHeard && family === 'video' && spans.audio.length > 0
  return {
    parts: [...pictureParts(frames), ...sounds.map((wav) => soundPart(ctx, { wav, file_sha256 }))],
    unjudged: family === 'video' && !isSeen ? 'pictures' : isUnheard ? 'sound' : null,
  }
}

/** Before anything is decoded. Throws ProbeError for pictures in a sound file, which would reach the engine unjudged, or InputProblem. */
function requireTracks({ video, audio }: Probed['spans'], family: 'video' | 'audio'): void {
  if (family === 'audio' && video.length > 0) throw new ProbeError('wrong_kind', 'The sound file holds pictures.')
  requireLength([...video, ...audio])
}
