import { namesVersion } from '../../../base-url.ts'
import { INPUTS } from '../../capabilities.ts'
import type { MediaLimits } from '../media-limits.ts'
import type { TaskDialect } from './dialect.ts'

const TASKS = '/contents/generations/tasks'

/**
 * Seedance at ByteDance Ark and BytePlus ModelArk. Its list shows the seed of a task.
 * Source: https://docs.byteplus.com/en/docs/ModelArk/1520757
 */
export const arkDialect: TaskDialect = {
  path_prefix: (base_url) => (namesVersion(base_url) ? '' : '/api/v3'),
  paths: { start: TASKS, list: TASKS, poll: TASKS, cancel: TASKS },
  resolutions: ['720p', '480p', '1080p'],
  protocol: () => ({
    inputs: new Set(INPUTS),
    seconds: [4, 15],
    references_max: { images: 8, videos: 2, audio: 3, files: 12 },
  }),
  media_limits: arkLimits,
  extra: ({ seed }) => ({ generate_audio: true, seed, watermark: false }),
  words: {
    // Codes may go on after a period: `InputImageSensitiveContentDetected.PrivacyInformation`.
    codes: [
      [/SensitiveContentDetected/, 'moderation'],
      [/^(ServerOverloaded|RateLimitExceeded|RequestBurstTooFast|QuotaExceeded)\b/, 'busy'],
      [/^InternalServiceError\b/, 'transient'],
      [/^(AuthenticationError|AccessDenied|AccountOverdueError|ModelNotOpen|InvalidEndpointOrModel)\b/, 'permanent'],
      [/^Invalid(Image|Video|Audio)/, 'media'],
      [/^(InvalidParameter|MissingParameter)/, 'rejected'],
    ],
  },
  isRender: () => true,
}

/**
 * What Seedance takes of media. The pixels of clips, and that sound needs a picture, are known of Seedance 2.0; Seedance 2.5 takes twice the
 * seconds, and an endpoint (`ep-…`) does not show its model.
 * Sources: https://docs.byteplus.com/en/docs/ModelArk/1520757, https://docs.comfy.org/built-in-nodes/ByteDance2ReferenceNodeV2
 */
function arkLimits(model: string): MediaLimits {
  const isV2 = /seedance-2-0/.test(model)
  const seconds_max = /seedance-2-5/.test(model) ? 30 : 15
  const sides = [300, 6000] as const
  const ratio = [0.4, 2.5] as const
  return {
    image: { size_bytes_max: 30 * MIB, sides, ratio },
    video: {
      types: ['video/mp4', 'video/quicktime'],
      size_bytes_max: 50 * MIB,
      sides,
      ratio,
      ...(isV2 ? { pixels: V2_PIXELS } : {}),
      seconds_min: SECONDS_MIN,
      seconds_max,
    },
    audio: { types: ['audio/mpeg', 'audio/wav'], size_bytes_max: 15 * MIB, seconds_min: SECONDS_MIN, seconds_max },
    ...(isV2 ? { sound_alone: false as const } : {}),
  }
}

const MIB = 1024 * 1024
const SECONDS_MIN = 1.8
/** 640 × 640 to 834 × 1112. */
const V2_PIXELS = [409_600, 927_408] as const
