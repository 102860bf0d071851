import type { Context } from '../../context.ts'
import { ChildrenBusy } from '../../media/children/concurrency-limit.ts'
import { picturesOf, sampleFrames } from '../../media/frames/frames.ts'
import { ProbeError, probeTracks } from '../../media/probe/probe.ts'
import { countSounds, extractSounds } from '../../media/sound.ts'
import { familyOf, isMediaFault, type JobFile, withVerifiedFile } from '../inputs.ts'
import type { ModerationNote, Outcome } from '../job.ts'
import type { VideoJobRow } from '../store.ts'
import { type Coverage, coverageOf } from './coverage.ts'
import { type Part, picturePart, soundPart } from './judge.ts'

export type Material = {
  parts: Part[]
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

type Found = { parts: Part[]; unjudged: 'pictures' | 'sound' | 'all' | null }

async function partsOf(
  ctx: Context,
  job: VideoJobRow,
  { file: { role, file }, coverage }: { file: JobFile; coverage: Coverage },
  signal: AbortSignal,
): Promise<Found | Outcome> {
  const family = familyOf(role)
  const isSeen = family !== 'audio' && coverage.pictures
  const isHeard = family !== 'image' && coverage.sound
  if (!isSeen && !isHeard) return { parts: [], unjudged: 'all' }
  const options = { owner: job.org_id, work_dir: ctx.work_dir, signal }
  try {
    const found = await withVerifiedFile(ctx, file, async (path): Promise<Found> => {
      const pictures = !isSeen
        ? []
        : await (family === 'image' ? picturesOf(path, options) : sampleFrames(path, options))
      if (family === 'audio') await requireSoundAlone(path, options)
      const sounds = isHeard ? await extractSounds(path, family, options) : []
      const isUnheard = !isHeard && family === 'video' && (await countSounds(path, family, options)) > 0
      const parts = [
        ...pictures.map((bytes) => picturePart(ctx, { text: job.prompt, bytes, file_sha256: file.sha256 })),
        ...sounds.map((wav) => soundPart(ctx, { wav, file_sha256: file.sha256 })),
      ]
      return { parts, unjudged: family === 'video' && !isSeen ? 'pictures' : isUnheard ? 'sound' : null }
    })
    return found ?? { to: 'failed', code: 'reference_unavailable' }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ChildrenBusy) return { to: 'same', retry_after_seconds: BUSY_SECONDS }
    if (isMediaFault(error)) return { to: 'failed', code: 'invalid_reference_media' }
    throw error
  }
}

/** Throws ProbeError for pictures in a sound file, which would reach the engine unjudged. */
async function requireSoundAlone(path: string, options: { owner: string }): Promise<void> {
  const { video_seconds } = await probeTracks(path, 'audio', options)
  if (video_seconds.length > 0) throw new ProbeError('wrong_kind', 'The sound file holds pictures.')
}
