import { asRecord } from '../../../../platform/json/record.ts'
import type { EngineErrorKind } from '../../../engine-error.ts'
import { INPUTS } from '../../capabilities.ts'
import type { Dialect } from './dialect.ts'

/**
 * MiniMax H3 and H3-Max, version 2 of the video API, and resellers of it. The API has no seed. Its list shows neither prompts nor seeds.
 * Source: https://platform.minimax.io/docs/api-reference/video-generation-v2-create
 */
export const minimaxDialect: Dialect = {
  path_prefix: () => '',
  paths: {
    start: '/v2/video_generation',
    list: '/v2/query/video_generation',
    poll: '/v2/query/video_generation',
    cancel: '/v2/video_generation',
  },
  resolutions: ['768P'],
  protocol(model, named) {
    const max = isMax(model)
    // Whether H3-Max takes references is not documented alike everywhere: only where the entry says so.
    const inputs = INPUTS.filter((input) => !max || !input.startsWith('reference_') || named?.includes(input))
    return {
      inputs: new Set(inputs),
      seconds: max ? [5, 15] : [4, 15],
      references_max: { images: 8, videos: 2, audio: 3, files: 12 },
    }
  },
  media_limits: { image_side_min: 256, image_ratio: [0.4, 2.5], video_seconds_max: 15 },
  extra: () => ({}),
  taskId: (json) => asRecord(json)?.task_id,
  task: (json) => asRecord(json)?.task,
  page(json) {
    const { items, total } = asRecord(json) ?? {}
    return Array.isArray(items) ? { views: items.filter(isGeneration), count: items.length, total } : null
  },
  outputUrl: ({ content }) => asRecord(content)?.url,
  errorCode(json) {
    const { code, error, base_resp } = asRecord(json) ?? {}
    const own = code ?? asRecord(error)?.code
    if (typeof own === 'string' || typeof own === 'number') return String(own)
    const message = asRecord(error)?.message ?? asRecord(json)?.message
    const named = typeof message === 'string' ? /\((\d{4})\)\s*$/.exec(message)?.[1] : undefined
    const status = asRecord(base_resp)?.status_code
    return named ?? (status ? String(status) : '')
  },
  errorKind: (code) => KINDS[code],
  isMediaCode: () => false,
}

/** Tasks of other types, such as rewritten prompts, are in the same list. */
function isGeneration(task: unknown): boolean {
  const type = asRecord(task)?.task_type
  return type === undefined || type === null || type === 'generation'
}

function isMax(model: string): boolean {
  return /h3-max/i.test(model)
}

const KINDS: Record<string, EngineErrorKind> = {
  1000: 'transient',
  1001: 'transient',
  1002: 'transient',
  1004: 'permanent',
  1008: 'permanent',
  1024: 'transient',
  1026: 'moderation',
  1027: 'moderation',
  1033: 'transient',
  1042: 'rejected',
  2013: 'rejected',
}
