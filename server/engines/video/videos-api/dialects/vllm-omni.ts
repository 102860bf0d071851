import type { RenderInput, RenderRequest } from '../../contract.ts'
import { multipart, type Part } from '../../http/multipart.ts'
import { renderMode } from '../../reject-unsupported.ts'
import type { VideosApiDialect } from './dialect.ts'
import { H3_SIZES, listedRatio } from './sizes.ts'

/**
 * vLLM-Omni serving MiniMax H3: multipart with the pictures as files; a clip and a sound as `data:` URLs, one of each.
 * Source: docs/engines.md, video.
 */
export const vllmOmniDialect: VideosApiDialect = {
  inputs: new Set(['first_frame', 'last_frame', 'reference_images', 'reference_videos', 'reference_audio']),
  references_max: { images: 8, videos: 1, audio: 1, files: 10 },
  media: 'bytes',
  cancel: 'any',
  lists: true,
  separate_references: false,
  async start(request, { sizes }) {
    const ratio = listedRatio(request)
    const [width = '', height = ''] = (sizes?.[ratio] ?? H3_SIZES[ratio].join('x')).split('x')
    const fields = {
      model: request.model,
      prompt: request.prompt,
      width,
      height,
      aspect_ratio: ratio,
      short_edge: '768',
      fps: '24',
      seconds: String(request.seconds),
      seed: String(request.seed),
      extra_params: JSON.stringify(extraParams(request)),
    }
    const parts: Part[] = Object.entries(fields).map(([name, text]) => ({ name, text }))
    return { body: multipart([...parts, ...mediaParts(request)]) }
  },
}

function extraParams(request: RenderRequest): Record<string, unknown> {
  const mode = renderMode(request)
  const task = mode === 'text' ? 't2va' : mode === 'references' ? 'ref2va' : 'fl2va'
  const frames = framesInOrder(request).map(({ role }) => (role === 'first_frame' ? 0 : -1))
  return { task, duration: request.seconds, ...(frames.length === 0 ? {} : { frame_indices: frames }) }
}

function mediaParts(request: RenderRequest): Part[] {
  const references = request.inputs.filter(({ role }) => role === 'reference_image')
  const images = [...framesInOrder(request), ...references]
  const name = images.length === 1 ? 'input_reference' : 'input_references'
  const parts: Part[] = images.map((file, i) => ({ name, file, filename: `image_${i}` }))
  for (const input of request.inputs) {
    if (input.role === 'reference_video') parts.push({ name: 'video_reference', data_url: input })
    if (input.role === 'reference_audio') parts.push({ name: 'audio_reference', data_url: input })
  }
  return parts
}

/** Only their order relates the files to `frame_indices`. */
function framesInOrder({ inputs }: RenderRequest): RenderInput[] {
  return ['first_frame', 'last_frame'].flatMap((role) => inputs.filter((input) => input.role === role))
}
