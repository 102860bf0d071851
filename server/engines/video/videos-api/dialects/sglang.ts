import type { RenderInput } from '../../contract.ts'
import { renderMode } from '../../reject-unsupported.ts'
import type { VideosApiDialect } from './dialect.ts'
import { H3_SIZES, listedRatio } from './sizes.ts'

/**
 * SGLang Diffusion serving MiniMax H3. One process renders from text and frames, another from references, each at its own address.
 * Media are fetched by the engine from signed URLs, unless it is configured for `data:` URLs, which its documentation does not name. DELETE only drops the record while the render goes on, so nothing can be canceled.
 * Source: docs/engines.md, video.
 */
export const sglangDialect: VideosApiDialect = {
  inputs: new Set(['first_frame', 'last_frame', 'reference_images', 'reference_videos', 'reference_audio']),
  references_max: { images: 8, videos: 2, audio: 3, files: 12 },
  media: 'signed_url',
  cancel: 'none',
  lists: true,
  separate_references: true,
  async start(request, { sizes, urlOf }) {
    const mode = renderMode(request)
    const ratio = listedRatio(request)
    const follows = request.aspect_ratio === 'Auto' && mode !== 'text' && mode !== 'references'
    const conditions = await Promise.all(
      request.inputs.map(async (input) => ({
        ...condition(input),
        uri: await urlOf(input),
      })),
    )
    return {
      json: {
        model: request.model,
        prompt: request.prompt,
        size: sizes?.[ratio] ?? H3_SIZES[ratio].join('x'),
        seconds: request.seconds,
        task: mode === 'text' ? 't2va' : mode === 'references' ? 'ref2va' : 'fl2va',
        conditions,
        target: { short_edge: 768, aspect_ratio: follows ? 'auto' : ratio, duration_seconds: request.seconds },
        seed: request.seed,
      },
    }
  },
}

function condition({ role, probe }: RenderInput): Record<string, string | number> {
  if (role === 'first_frame') return { type: 'image', role: 'keyframe', frame_index: 0 }
  if (role === 'last_frame') return { type: 'image', role: 'keyframe', frame_index: -1 }
  if (role === 'reference_image') return { type: 'image', role: 'reference' }
  if (role === 'reference_audio') return { type: 'audio', role: 'reference' }
  return { type: probe.audio_codec === null ? 'video' : 'video_audio', role: 'reference' }
}
