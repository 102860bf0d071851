import { asRecord } from '../../../../platform/json/record.ts'
import { namesVersion } from '../../../base-url.ts'
import type { EngineErrorKind } from '../../../engine-error.ts'
import { INPUTS } from '../../capabilities.ts'
import type { Dialect } from './dialect.ts'

const TASKS = '/contents/generations/tasks'

/**
 * Seedance at ByteDance Ark and BytePlus ModelArk. Its list shows the seed of a task.
 * Source: https://docs.byteplus.com/en/docs/ModelArk/1520757
 */
export const arkDialect: Dialect = {
  path_prefix: (base_url) => (namesVersion(base_url) ? '' : '/api/v3'),
  paths: { start: TASKS, list: TASKS, poll: TASKS, cancel: TASKS },
  resolutions: ['720p', '480p', '1080p'],
  protocol: () => ({
    inputs: new Set(INPUTS),
    seconds: [4, 15],
    references_max: { images: 8, videos: 2, audio: 3, files: 12 },
  }),
  media_limits: { video_seconds_max: 15 },
  extra: ({ seed }) => ({ generate_audio: true, seed, watermark: false }),
  taskId: (json) => asRecord(json)?.id,
  task: (json) => json,
  page(json) {
    const { items, total } = asRecord(json) ?? {}
    return Array.isArray(items) ? { views: items, count: items.length, total } : null
  },
  outputUrl: ({ content }) => asRecord(content)?.video_url,
  errorCode(json) {
    const code = asRecord(asRecord(json)?.error)?.code ?? asRecord(json)?.code
    return typeof code === 'string' ? code : ''
  },
  errorKind: (code) => KINDS.find(([pattern]) => pattern.test(code))?.[1],
  isMediaCode: (code) => /^Invalid(Image|Video|Audio)/.test(code),
}

/** Codes may go on after a period: `InputImageSensitiveContentDetected.PrivacyInformation`. */
const KINDS: ReadonlyArray<readonly [pattern: RegExp, kind: EngineErrorKind]> = [
  [/SensitiveContentDetected/, 'moderation'],
  [/^(InternalServiceError|ServerOverloaded|RateLimitExceeded|RequestBurstTooFast|QuotaExceeded)\b/, 'transient'],
  [/^(AuthenticationError|AccessDenied|AccountOverdueError|ModelNotOpen|InvalidEndpointOrModel)\b/, 'permanent'],
  [/^(InvalidParameter|MissingParameter|InvalidImage|InvalidVideo|InvalidAudio)/, 'rejected'],
]
