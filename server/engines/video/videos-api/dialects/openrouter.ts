import type { RenderInput } from '../../contract.ts'
import type { VideosApiDialect } from './dialect.ts'
import { listedRatio } from './sizes.ts'

/**
 * OpenRouter's videos: JSON, media fetched from signed URLs or written as `data:` URLs, the finished clip at a URL of the reply. Neither a list nor a way to
 * cancel is documented. Reference audio is left out: how its part is written could not be verified.
 * Source: https://www.npmjs.com/package/@openrouter/sdk/v/1.3.19
 */
export const openrouterDialect: VideosApiDialect = {
  inputs: new Set(['first_frame', 'last_frame', 'reference_images', 'reference_videos']),
  references_max: { images: 8, videos: 2, audio: 0, files: 10 },
  media: 'signed_url',
  cancel: 'none',
  lists: false,
  separate_references: false,
  async start(request, { urlOf }) {
    const url = async (input: RenderInput) => ({ url: await urlOf(input) })
    const frames = request.inputs.filter(({ role }) => !role.startsWith('reference_'))
    const references = request.inputs.filter(({ role }) => role.startsWith('reference_'))
    const frame_images = await Promise.all(
      frames.map(async (input) => ({ type: 'image_url', image_url: await url(input), frame_type: input.role })),
    )
    const input_references = await Promise.all(
      references.map(async (input) =>
        input.role === 'reference_image'
          ? { type: 'image_url', image_url: await url(input) }
          : { type: 'video_url', video_url: await url(input) },
      ),
    )
    return {
      json: {
        model: request.model,
        prompt: request.prompt,
        duration: request.seconds,
        resolution: '768p',
        aspect_ratio: listedRatio(request),
        generate_audio: true,
        seed: request.seed,
        ...(frame_images.length === 0 ? {} : { frame_images }),
        ...(input_references.length === 0 ? {} : { input_references }),
      },
    }
  },
}
