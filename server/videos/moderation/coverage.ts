import type { Context } from '../../context.ts'
import { findFiles, sentFile } from '../../files/store/files.ts'
import { ProbeError } from '../../media/probe/probe.ts'
import { countSounds } from '../../media/sound.ts'
import { ApiError } from '../../platform/errors.ts'
import { withVerifiedFile } from '../inputs.ts'
import type { JobInput } from '../job.ts'
import type { CreateVideo } from '../schema.ts'

/** What the configured engines can judge beside text, and whether media they cannot judge are let through. */
export type Coverage = { pictures: boolean; sound: boolean; rest: 'allow' | 'block' }

export function coverageOf({ engines, config }: Pick<Context, 'engines' | 'config'>): Coverage {
  const { moderation, transcription } = engines
  return {
    pictures: moderation.sees_images,
    sound: transcription !== undefined,
    rest: config.moderation_media ?? moderation.media,
  }
}

/** The kinds of media that reach video engines unjudged, as a sentence for the operator's log; null when there are none. */
export function describeUnjudged(ctx: Pick<Context, 'engines' | 'config'>): string | null {
  const { pictures, sound, rest } = coverageOf(ctx)
  if (rest === 'block' || (pictures && sound)) return null
  const what = [...(pictures ? [] : ['pictures']), ...(sound ? [] : ['sound'])].join(' and ')
  return `Reference ${what} cannot be judged by the configured engines and are let through. Set moderation.media to block, or configure engines that can.`
}

/**
 * Refuses media that no engine can judge, unless such media are let through. Clips are probed for a soundtrack;
 * one that cannot be read is left to the preflight. Throws ApiError 400 with the field as `param`, or the reason of `signal`.
 */
export async function requireJudgeable(
  ctx: Context,
  org_id: string,
  { body, inputs, signal }: { body: CreateVideo; inputs: readonly JobInput[]; signal: AbortSignal },
): Promise<void> {
  const { pictures, sound, rest } = coverageOf(ctx)
  if (rest === 'allow') return
  const { images = [], videos = [], audio = [] } = body.references ?? {}
  if (!pictures) {
    if (body.image_reference) throw refusal('image_reference', 'pictures')
    if (images.length > 0) throw refusal('references.images', 'pictures')
    if (videos.length > 0) throw refusal('references.videos', 'pictures')
  }
  if (sound) return
  if (audio.length > 0) throw refusal('references.audio', 'sound')
  const ids = inputs.filter(({ role }) => role === 'reference_video').map(({ file_id }) => file_id)
  if (ids.length === 0) return
  const files = await findFiles(ctx.db, { org_id, ids, now: ctx.clock.now() })
  for (const [i, id] of ids.entries()) {
    const file = files.get(id)
    if (file && (await withVerifiedFile(ctx, sentFile(file), (path) => hasSound(path, { owner: org_id, signal }))))
      throw refusal(`references.videos[${i}].file_id`, 'sound')
  }
}

async function hasSound(path: string, options: { owner: string; signal: AbortSignal }): Promise<boolean> {
  try {
    return (await countSounds(path, 'video', options)) > 0
  } catch (error) {
    if (error instanceof ProbeError) return false
    throw error
  }
}

function refusal(param: string, what: 'pictures' | 'sound'): ApiError {
  const text = param.endsWith('file_id')
    ? `The clip in '${param}' has a soundtrack, and no moderation engine of this service can judge sound. Upload the clip without its sound.`
    : `No moderation engine of this service can judge ${what}, so none is accepted. Leave '${param}' out.`
  return new ApiError('unsupported_value', text, { param })
}
