import { INPUTS } from '../../capabilities.ts'
import type { TaskDialect } from './dialect.ts'

/**
 * MiniMax H3 and H3-Max, version 2 of the video API, and resellers of it. The API has no seed. Its list shows neither prompts nor seeds.
 * Source: https://platform.minimax.io/docs/api-reference/video-generation-v2-create
 */
export const minimaxDialect: TaskDialect = {
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
  media_limits: () => ({
    image: { sides: [256, Number.POSITIVE_INFINITY], ratio: [0.4, 2.5] },
    video: { seconds_max: 15 },
  }),
  extra: () => ({}),
  // Source: https://platform.minimax.io/docs/api-reference/errorcode
  words: {
    codes: [
      [/^(1026|1027)$/, 'moderation'],
      [/^(1002|1039|1041|2045|2056)$/, 'busy'],
      [/^(1000|1001|1013|1024|1033)$/, 'transient'],
      [/^(1004|1008|2049)$/, 'permanent'],
      [/^(1042|2013)$/, 'rejected'],
    ],
  },
  isRender: ({ task_type }) => task_type === undefined || task_type === null || task_type === 'generation',
}

function isMax(model: string): boolean {
  return /h3-max/i.test(model)
}
