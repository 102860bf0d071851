import { EngineError } from '../../engine-error.ts'
import type { RenderInput, RenderRequest } from '../contract.ts'
import type { MediaLimits } from './dialects/dialect.ts'

/** Refuses media that a probe already shows to be outside the engine's limits. Throws EngineError `rejected` about the reference. */
export function refuseMedia({ inputs }: RenderRequest, limits: Partial<MediaLimits>): void {
  if (inputs.some((input) => !isUsableImage(input, limits))) throw refuse('an image of this size or aspect ratio')
  const seconds = inputs
    .filter(({ role }) => role === 'reference_video')
    .reduce((sum, { probe }) => sum + (probe.duration_seconds ?? 0), 0)
  if (limits.video_seconds_max !== undefined && seconds > limits.video_seconds_max + ROUNDING_SECONDS)
    throw refuse(`reference videos of more than ${limits.video_seconds_max} seconds in all`)
}

/** Muxers round: a clip of 15 s may read 15.05. */
const ROUNDING_SECONDS = 0.05

function isUsableImage({ probe }: RenderInput, { image_side_min, image_ratio }: Partial<MediaLimits>): boolean {
  const { kind, width, height } = probe
  if (kind !== 'image' || width === null || height === null) return true
  if (image_side_min !== undefined && Math.min(width, height) < image_side_min) return false
  return image_ratio === undefined || (width / height >= image_ratio[0] && width / height <= image_ratio[1])
}

function refuse(what: string): EngineError {
  return new EngineError('rejected', `The engine does not take ${what}.`, {
    subject: 'reference_media',
    engine_code: 'unsupported',
  })
}
